// Writes the file that an option or a variable names (--report, --html, --textfile,
// GITHUB_STEP_SUMMARY). A regular file is replaced in one step by a new one in its directory, so
// that no reader sees half of it. A pipe, a device or an open file (/dev/stderr) is written to. A
// link is refused, and so is what another user has put into a folder such as /tmp.

import { randomUUID } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { callerId, userOf } from '../system/caller.ts';
import { fileError, OutputError, UsageError } from '../text/errors.ts';
import { quoted } from '../text/foreign-text.ts';

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY, W_OK } = constants;

/** How long a full pipe may stay full, in ms. */
const maxFullMs = 2_000;

/** These are links to open files, which the kernel opens anew. */
const openFile = /^\/(dev\/(stdout|stderr|fd\/\d+)|proc\/self\/fd\/\d+)$/;

interface Target {
  readonly path: string;
  /** A regular file, or none yet. */
  readonly isRegular: boolean;
  /** Permission bits of the existing file; null: there is none. */
  readonly mode: number | null;
}

/**
 * The absolute path, or null without --report. It is checked before the run, when it can still be
 * refused, and again when it is written.
 * @throws OutputError for a path that cannot be written, UsageError for an empty one
 */
export function checkReportPath(report: string | null, cwd: string): string | null {
  if (report === null) return null;
  if (report === '') throw new UsageError('--report: "": empty (name a file)');
  const path = resolve(cwd, report);
  const folder = dirname(path);
  let shown = folder;
  try {
    if (!statSync(folder).isDirectory())
      throw refusal('--report', folder, 'not a directory (name another file)');
    if (report.endsWith('/') || lstatSync(path, { throwIfNoEntry: false })?.isDirectory())
      throw refusal('--report', report, 'is a directory (name a file)');
    const { isRegular } = targetOf('--report', path);
    // The path of a pipe or a device is shown as the user wrote it.
    if (!isRegular) shown = report;
    accessSync(isRegular ? folder : path, W_OK);
    return path;
  } catch (error) {
    if (error instanceof OutputError) throw error;
    const why = fileError(error, 'written');
    throw refusal('--report', shown, `${why} (name a file that can be written)`);
  }
}

/** Returns one line that says why `option` could not write the file, or null. */
export function writeFile(option: string, file: string, text: string): string | null {
  return problemOf(option, file, (target) =>
    target.isRegular ? replace(target, text) : append(target, text),
  );
}

/** The same for a text at the end of the file, which is created where it is missing. */
export function appendToFile(option: string, file: string, text: string): string | null {
  return problemOf(option, file, (target) => append(target, text));
}

function problemOf(option: string, file: string, write: (target: Target) => void): string | null {
  try {
    write(targetOf(option, resolve(file)));
    return null;
  } catch (error) {
    if (error instanceof OutputError) return error.message;
    return `${option}: ${quoted(file)}: ${fileError(error, 'written')}`;
  }
}

function refusal(option: string, path: string, why: string): OutputError {
  return new OutputError(`${option}: ${quoted(path)}: ${why}`);
}

/** @throws OutputError for a link, and for what belongs to another user in a sticky directory */
function targetOf(option: string, path: string): Target {
  if (openFile.test(path)) return { path, isRegular: false, mode: null };
  for (let folder = dirname(path); folder !== '/'; folder = dirname(folder)) {
    const found = lstatSync(folder, { throwIfNoEntry: false });
    if (found?.isSymbolicLink()) refuseForeign(option, folder, found);
  }
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return { path, isRegular: true, mode: null };
  refuseForeign(option, path, found);
  if (found.isSymbolicLink()) throw refusal(option, path, 'is a link (name the file itself)');
  return { path, isRegular: found.isFile(), mode: found.mode & 0o777 };
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
  const pipeOrFile = found.isFIFO() ? 'a pipe' : 'a file';
  const what = `${found.isSymbolicLink() ? 'a link' : pipeOrFile} of ${userOf(found.uid)}`;
  const why = `${what} in a folder that everyone can write to`;
  throw refusal(option, path, `${why} (name a file in a folder of your own)`);
}

function replace({ path, mode }: Target, text: string): void {
  const draft = `${path}.${randomUUID()}`;
  try {
    writeFileSync(draft, text, { flag: 'wx', mode: mode ?? 0o666 });
    // The umask must not change the mode of a file that existed before.
    if (mode !== null) chmodSync(draft, mode);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/**
 * Writes without blocking: no process may read a pipe. One that stays full for two seconds is given
 * up; a slow reader that goes on reading has all the time it needs.
 */
function append({ path, isRegular }: Target, text: string): void {
  const create = isRegular ? O_CREAT | O_NOFOLLOW : 0;
  const fd = openSync(path, O_WRONLY | O_APPEND | O_NONBLOCK | create, 0o644);
  try {
    let rest = Buffer.from(text);
    let fullSince: number | null = null;
    while (rest.length > 0) {
      const count = writtenOf(fd, rest);
      rest = rest.subarray(count);
      fullSince = count > 0 ? null : (fullSince ?? performance.now());
      if (fullSince === null) continue;
      if (performance.now() - fullSince > maxFullMs)
        throw Object.assign(new Error('full'), { code: 'ENXIO' });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  } finally {
    closeSync(fd);
  }
}

/** How many bytes went into a file that was opened without blocking; 0: there is no room now. */
function writtenOf(fd: number, bytes: Buffer): number {
  try {
    return writeSync(fd, bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
    throw error;
  }
}
