// A file that is named for writing: its path, and how it is to be written. That of --report
// is checked before the run, when it can still be refused, and again when it is written. A regular
// file is replaced by a new one in the same directory, so the directory must be writable. *Note:*
// links are followed here and not by the kernel, because /dev/stdout leads to an open file and not
// to a path; renaming over it would replace the link in /dev. So the kernel's rules for sticky
// directories are applied here as well.

import { accessSync, constants, lstatSync, readlinkSync, type Stats, statSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { callerId, userOf } from '../system/caller.ts';
import { fileError, isMissing, OutputError, UsageError } from '../text/errors.ts';
import { quoted } from '../text/foreign-text.ts';

/**
 * The absolute path, or null without --report.
 * @throws OutputError for a path that cannot be written, UsageError for an empty one
 */
export function checkReportPath(report: string | null, cwd: string): string | null {
  if (report === null) return null;
  if (report === '') throw new UsageError('--report: "": empty (name a file)');
  const path = resolve(cwd, report);
  const directory = dirname(path);
  const parent = find(directory);
  if (parent === null)
    throw new OutputError(`--report: ${quoted(directory)}: no such directory (make it first)`);
  if (!parent.isDirectory())
    throw new OutputError(`--report: ${quoted(directory)}: not a directory (name another file)`);
  const target = targetOf(path);
  if (target.kind === 'directory' || report.endsWith('/')) {
    throw new OutputError(`--report: ${quoted(report)}: is a directory (name a file)`);
  }
  const written = target.kind === 'replaced' ? dirname(target.path) : target.path;
  try {
    accessSync(written, constants.W_OK);
  } catch (error) {
    // The path of a descriptor, as /dev/stdout leads to, would tell people nothing.
    const shown = target.kind === 'appended' ? report : written;
    throw fault(shown, error, 'name a file that can be written');
  }
  return path;
}

function targetOf(path: string): ReportTarget {
  try {
    return reportTarget('--report', path);
  } catch (error) {
    throw error instanceof OutputError ? error : fault(path, error, 'name another file');
  }
}

/** Null when the path does not exist. */
function find(path: string): Stats | null {
  try {
    return statSync(path);
  } catch (error) {
    if (isMissing(error)) return null;
    throw fault(path, error, 'name another file');
  }
}

function fault(path: string, error: unknown, whatToDo: string): OutputError {
  return new OutputError(`--report: ${quoted(path)}: ${fileError(error, 'written')} (${whatToDo})`);
}

export interface ReportTarget {
  /** The path behind all links; the path of a descriptor is left as it is. */
  readonly path: string;
  /**
   * `replaced` in one step, by a new file; `overwritten` where the file has other names or another
   * owner, which a new file would lose; `appended` to an open file, a pipe, a device.
   */
  readonly kind: 'replaced' | 'overwritten' | 'appended' | 'directory';
  /** Permission bits of the existing file; null: there is none. */
  readonly mode: number | null;
}

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_TRUNC, O_WRONLY } = constants;

/**
 * Flags of open(2) for writing in place; `extended`: a regular file grows. Without blocking: no
 * process may read the pipe.
 */
export const openFlags = {
  overwritten: O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK,
  extended: O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
  appended: O_WRONLY | O_APPEND | O_NONBLOCK,
} as const;

const descriptor = /^\/(proc\/[^/]+\/(task\/\d+\/)?fd|dev\/fd)\/\d+$/;
/** As many links as the kernel follows. */
const maxLinks = 40;

/**
 * Follows the links of an absolute path, those of its folders too.
 * @throws OutputError for a file of another user in a sticky directory; else as node:fs does, with
 * ENOENT for a missing directory
 */
export function reportTarget(option: string, file: string): ReportTarget {
  let path = '/';
  const names = file.split('/');
  for (let linkCount = 0; ; ) {
    path = join(path, names.shift() ?? '');
    const isLast = names.length === 0;
    const found = lstatSync(path, { throwIfNoEntry: !isLast });
    if (isLast && descriptor.test(path)) return { path, kind: 'appended', mode: null };
    if (found && (isLast || found.isSymbolicLink())) refuseForeign(option, path, found);
    if (!found?.isSymbolicLink()) {
      if (isLast) return { path, ...treatmentOf(found) };
      continue;
    }
    linkCount += 1;
    if (linkCount > maxLinks) throw Object.assign(new Error('too many links'), { code: 'ELOOP' });
    const target = readlinkSync(path);
    names.unshift(...target.split('/'));
    path = isAbsolute(target) ? '/' : dirname(path);
  }
}

/**
 * In a sticky directory that everyone can write to, such as /tmp, a link, a file or a pipe must
 * belong to the caller or to the owner of the directory: protected_symlinks, protected_regular and
 * protected_fifos of proc_sys_fs(5), whatever their values are.
 */
function refuseForeign(option: string, path: string, found: Stats): void {
  const folder = statSync(dirname(path));
  const isShared = (folder.mode & 0o1002) === 0o1002;
  const caller = callerId();
  if (!isShared || caller === null || found.uid === caller || found.uid === folder.uid) return;
  const why = `${kindOf(found)} of ${userOf(found.uid)} in a folder that everyone can write to`;
  throw new OutputError(`${option}: ${quoted(path)}: ${why} (name a file in a folder of your own)`);
}

function kindOf(found: Stats): string {
  if (found.isSymbolicLink()) return 'a link';
  return found.isFIFO() ? 'a pipe' : 'a file';
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
