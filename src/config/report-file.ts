// The file of --report: which path it is, and how it will be written. Asked before the run, when it
// can still be refused, and again when the report is written; nothing is changed here. A file is
// replaced by one that is written beside it, so its directory counts; what is written in place counts
// itself. Links are followed by hand, because those of /dev/stdout lead to an open file and not to a
// path: renaming over one would take the place of the device in /dev. So the kernel's rules for
// sticky folders are applied by hand, too.

import {
  accessSync,
  constants,
  lstatSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { callerId, userOf } from '../system/user.ts';
import { fileTrouble, OutputError, UsageError } from '../text/errors.ts';
import { quoted } from '../text/quote.ts';

/**
 * The absolute path, or null when there is none.
 * @throws UsageError for what is no file, OutputError for one that may not be written
 */
export function checkReportPath(report: string | null, cwd: string): string | null {
  if (report === null) return null;
  if (report === '') throw new UsageError('--report: "": empty (name a file)');
  const path = resolve(cwd, report);
  const directory = dirname(path);
  const parent = find(directory);
  if (parent === null)
    throw new UsageError(`--report: ${quoted(directory)}: no such directory (make it first)`);
  if (!parent.isDirectory())
    throw new UsageError(`--report: ${quoted(directory)}: not a directory (name another file)`);
  const target = targetOf(path);
  if (target.kind === 'directory' || report.endsWith('/')) {
    throw new UsageError(`--report: ${quoted(report)}: is a directory (name a file)`);
  }
  const written = target.kind === 'replaced' ? dirname(target.path) : target.path;
  try {
    accessSync(written, constants.W_OK);
  } catch (error) {
    throw fault(written, error, 'name a file that can be written');
  }
  return path;
}

function targetOf(path: string): ReportTarget {
  try {
    return reportTarget(path);
  } catch (error) {
    throw error instanceof OutputError ? error : fault(path, error, 'name another file');
  }
}

/** Null when nothing is there, or nothing that may be looked at. */
function find(path: string): Stats | null {
  try {
    return statSync(path);
  } catch (error) {
    if (fileTrouble(error) === 'no such file') return null;
    throw fault(path, error, 'name another file');
  }
}

function fault(path: string, error: unknown, whatToDo: string): UsageError | OutputError {
  const { code } = error as NodeJS.ErrnoException;
  const line = `--report: ${quoted(path)}: ${fileTrouble(error, 'written')} (${whatToDo})`;
  return ['EACCES', 'EPERM', 'EROFS'].includes(code ?? '')
    ? new OutputError(line)
    : new UsageError(line);
}

export interface ReportTarget {
  /** Where all links lead to; a descriptor is left as it is. */
  readonly path: string;
  /**
   * `replaced` in one step, by a new file; `overwritten` where a new file would not be the one that
   * others have; `appended` to an open file, a pipe, a device.
   */
  readonly kind: 'replaced' | 'overwritten' | 'appended' | 'directory';
  /** Permission bits of the file that is replaced; null: there is none. */
  readonly mode: number | null;
}

/** What is opened to write into it. A pipe must not hold us up: see the one who writes. */
export const openFlags = {
  overwritten: constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  appended: constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK,
} as const;

const descriptor = /^\/(proc\/[^/]+\/(task\/\d+\/)?fd|dev\/fd)\/\d+$/;
/** As many as the kernel follows. */
const mostLinks = 40;

/**
 * @throws OutputError for what another user has put into a sticky folder; else as node:fs does;
 * ENOENT: its directory is not there
 */
export function reportTarget(file: string): ReportTarget {
  let path = file;
  for (let count = 0; count <= mostLinks; count += 1) {
    path = join(realpathSync(dirname(path)), basename(path));
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (descriptor.test(path)) return { path, kind: 'appended', mode: null };
    if (found) refuseForeign(path, found);
    if (!found?.isSymbolicLink()) return { path, ...treatmentOf(found) };
    path = resolve(dirname(path), readlinkSync(path));
  }
  throw Object.assign(new Error('too many links'), { code: 'ELOOP' });
}

/**
 * In a sticky folder that everyone can write to, such as /tmp, a link, a file or a pipe counts only
 * when it belongs to us or to the owner of the folder: protected_symlinks, protected_regular and
 * protected_fifos of proc_sys_fs(5), whatever they are set to.
 */
function refuseForeign(path: string, found: Stats): void {
  const folder = statSync(dirname(path));
  const isShared = (folder.mode & 0o1002) === 0o1002;
  const caller = callerId();
  if (!isShared || caller === null || found.uid === caller || found.uid === folder.uid) return;
  const what = found.isSymbolicLink() ? 'a link' : found.isFIFO() ? 'a pipe' : 'a file';
  throw new OutputError(
    `--report: ${quoted(path)}: ${what} of ${userOf(found.uid)} in a folder that everyone can write to (name a file in a folder of your own)`,
  );
}

function treatmentOf(found: Stats | undefined): Omit<ReportTarget, 'path'> {
  if (!found) return { kind: 'replaced', mode: null };
  if (found.isDirectory()) return { kind: 'directory', mode: null };
  if (!found.isFile()) return { kind: 'appended', mode: null };
  const isOurs =
    found.uid === (process.geteuid?.() ?? found.uid) &&
    found.gid === (process.getegid?.() ?? found.gid);
  const kind = isOurs && found.nlink === 1 ? 'replaced' : 'overwritten';
  return { kind, mode: found.mode & 0o7777 };
}
