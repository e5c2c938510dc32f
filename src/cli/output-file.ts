// Writes a file that an option or a variable names (--report, --html, --svg, --textfile,
// GITHUB_STEP_SUMMARY). A regular file is replaced in one step, so that no reader sees half of it;
// anything else (a pipe, /dev/stderr) is written in place. What another user has put in the way is
// refused (config/report-file.ts).

import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fchmodSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { resolve } from 'node:path';
import { openFlags, type ReportTarget, reportTarget } from '../config/report-file.ts';
import { fileError, OutputError } from '../text/errors.ts';
import { quoted } from '../text/foreign-text.ts';

/** How long a full pipe may stay full, in ms. */
const maxFullMs = 2_000;

/** Returns one line that says why `option` could not write the file, or null. */
export function writeFile(option: string, file: string, text: string): string | null {
  return problemOf(option, file, ({ path, kind, mode }) => {
    if (kind === 'replaced') replaceFile(path, text, mode);
    else writeInto(path, text, kind === 'overwritten' ? openFlags.overwritten : openFlags.appended);
  });
}

/** The same for a text at the end of the file, which is created where it is missing. */
export function appendToFile(option: string, file: string, text: string): string | null {
  return problemOf(option, file, ({ path, kind }) =>
    writeInto(path, text, kind === 'appended' ? openFlags.appended : openFlags.extended),
  );
}

/** Why the file cannot be written, by what `write` throws; null: it is written. */
function problemOf(
  option: string,
  file: string,
  write: (target: ReportTarget) => void,
): string | null {
  try {
    const target = reportTarget(option, resolve(file));
    if (target.kind === 'directory')
      throw Object.assign(new Error('a directory'), { code: 'EISDIR' });
    write(target);
    return null;
  } catch (error) {
    if (error instanceof OutputError) return error.message;
    return `${option}: ${quoted(file)}: ${fileError(error, 'written')}`;
  }
}

/** Writes a file in one step; `mode`: of the file that it replaces, or null. Throws as fs does. */
function replaceFile(path: string, text: string, mode: number | null): void {
  const draft = `${path}.${randomUUID()}`;
  try {
    const fd = openSync(draft, 'wx', mode ?? 0o666);
    try {
      writeFileSync(fd, text);
      // The umask must not change the mode of a file that existed before.
      if (mode !== null) fchmodSync(fd, mode);
    } finally {
      closeSync(fd);
    }
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/**
 * Writes without blocking. A pipe that stays full for two seconds is given up; a slow reader that
 * goes on reading has all the time it needs.
 */
function writeInto(path: string, text: string, flags: number): void {
  const fd = openSync(path, flags, 0o644);
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
