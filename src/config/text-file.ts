// Reads files that people write: a configuration, a password, a certificate. Reading stops at a
// limit, because the file may be a pipe, as <(...) of a shell is, or a device that never ends.
// *Invariant:* a configuration file that was found, and not named, is opened only when it is a
// regular file of the caller or of root that no other user can write to. Otherwise another user
// could choose the masters, and with them the holder of the lock.

import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs';
import { callerId, userOf } from '../system/caller.ts';
import { otherWritersOf } from '../system/ownership.ts';
import { ConfigError, fileError } from '../text/errors.ts';

/** In bytes: many times the size of any configuration. */
const maxBytes = 1024 * 1024;

/** The file has more than `maxBytes`; with a code, as errors of node:fs have one. */
class TooLong extends Error {
  readonly code = 'ERR_TOO_LONG';
}

/** @throws as node:fs does; ERR_TOO_LONG where there is more than 1 MiB */
export function readTextFile(path: string): Buffer {
  return readDescriptor(openSync(path, 'r'));
}

/** The same for an open file, which is then closed. */
export function readDescriptor(descriptor: number): Buffer {
  try {
    const chunks: Buffer[] = [];
    let byteCount = 0;
    for (;;) {
      const chunk = Buffer.alloc(65_536);
      const count = readSync(descriptor, chunk);
      if (count === 0) return Buffer.concat(chunks);
      byteCount += count;
      if (byteCount > maxBytes) throw new TooLong();
      chunks.push(chunk.subarray(0, count));
    }
  } finally {
    closeSync(descriptor);
  }
}

export interface OpenedFile {
  readonly descriptor: number;
  /** Permission bits, as in stat(2). */
  readonly mode: number;
}

/**
 * Opens the file; null when it does not exist, or when its folder may not be entered.
 * @throws ConfigError when it is not trusted, or cannot be opened
 */
export function openTrusted(path: string): OpenedFile | null {
  try {
    const entry = lstatSync(path);
    const found = statSync(path);
    refuseUntrusted(path, entry, found);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(code ?? '')) return null;
    throw unreadable(path, error);
  }
  let descriptor: number;
  try {
    // The file may have been replaced by a pipe since the check; open(2) must not block on it.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch (error) {
    throw unreadable(path, error);
  }
  try {
    const opened = fstatSync(descriptor);
    refuseUntrusted(path, opened, opened);
    return { descriptor, mode: opened.mode };
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

function unreadable(path: string, error: unknown): ConfigError {
  const why = fileError(error, 'read');
  return new ConfigError(`config: ${path}: ${why} (name a readable YAML file by --config)`);
}

/** `entry` is the entry of the folder, which may be a link to `found`. */
function refuseUntrusted(path: string, entry: Stats, found: Stats): void {
  const why = reasonToRefuse(entry, found);
  if (why === null) return;
  throw new ConfigError(`config: ${path}: ${why} (name it by --config to use it)`);
}

function reasonToRefuse(entry: Stats, found: Stats): string | null {
  if (!isOfCallerOrRoot(entry)) {
    const what = entry.isSymbolicLink() ? 'is a link that belongs' : 'belongs';
    return `${what} to ${userOf(entry.uid)}, not to you or root`;
  }
  if (!found.isFile()) return `${kindOf(found)} of ${userOf(found.uid)}, not a regular file`;
  if (!isOfCallerOrRoot(found)) {
    return `is a link to a file that belongs to ${userOf(found.uid)}, not to you or root`;
  }
  const writers = writersOf(found);
  return writers && `belongs to ${userOf(found.uid)} and can be written by ${writers}`;
}

function isOfCallerOrRoot({ uid }: Stats): boolean {
  const caller = callerId();
  return caller === null || uid === caller || uid === 0;
}

/** The other users that can write to the file, in words; null: none. */
function writersOf(found: Stats): string | null {
  const writers = otherWritersOf(found);
  const who = writers === 'group' ? `group ${found.gid}` : writers;
  return who && `${who} (mode ${(found.mode & 0o777).toString(8)})`;
}

function kindOf(found: Stats): string {
  if (found.isDirectory()) return 'is a directory';
  return found.isFIFO() ? 'is a pipe' : 'is a device or a socket';
}
