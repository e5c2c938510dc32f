// Files that a person has written: a configuration, a password, a certificate. Reading stops at a
// limit, because it may be a pipe, as <(...) of a shell is, or a device that never ends. A
// configuration file that was found and not named is opened only when it is a regular file of the
// caller or of root that no other user can write to: another user could else choose the masters, and
// with them the holder of the lock.

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
import { callerId, userOf } from '../system/user.ts';
import { ConfigError, fileTrouble } from '../text/errors.ts';

/** In bytes: many times what anybody writes into a configuration. */
const mostBytes = 1024 * 1024;

/** What reading more than `mostBytes` is, with a code as errors of node:fs have. */
class TooLong extends Error {
  readonly code = 'ERR_TOO_LONG';
}

/** @throws as node:fs does; ERR_TOO_LONG where there is more than 1 MiB */
export function readTextFile(path: string): Buffer {
  return readDescriptor(openSync(path, 'r'));
}

/** The same for an open file, which is closed then. */
export function readDescriptor(descriptor: number): Buffer {
  try {
    const chunks: Buffer[] = [];
    let byteCount = 0;
    for (;;) {
      const chunk = Buffer.alloc(65_536);
      const count = readSync(descriptor, chunk);
      if (count === 0) return Buffer.concat(chunks);
      byteCount += count;
      if (byteCount > mostBytes) throw new TooLong();
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
 * Opens the file, or returns null when there is none, or none that may be looked at.
 * @throws ConfigError when it cannot be trusted, or not be opened
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
    // What is there by now may be another thing, so nothing waits for the other end of a pipe.
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
  const why = fileTrouble(error);
  return new ConfigError(`config: ${path}: ${why} (name a readable YAML file by --config)`);
}

/** `entry` is what stands in the folder, which may be a link to `found`. */
function refuseUntrusted(path: string, entry: Stats, found: Stats): void {
  const why = reasonToRefuse(entry, found);
  if (why === null) return;
  throw new ConfigError(`config: ${path}: ${why} (name it by --config to use it)`);
}

function reasonToRefuse(entry: Stats, found: Stats): string | null {
  if (!isOwn(entry)) {
    const what = entry.isSymbolicLink() ? 'is a link that belongs' : 'belongs';
    return `${what} to ${userOf(entry.uid)}, not to you or root`;
  }
  if (!found.isFile()) return `${kindOf(found)} of ${userOf(found.uid)}, not a regular file`;
  if (!isOwn(found)) {
    return `is a link to a file that belongs to ${userOf(found.uid)}, not to you or root`;
  }
  const writers = writersOf(found);
  return writers && `belongs to ${userOf(found.uid)} and can be written by ${writers}`;
}

function isOwn({ uid }: Stats): boolean {
  const caller = callerId();
  return caller === null || uid === caller || uid === 0;
}

/** Who else may write to it; null: no other user. */
function writersOf({ mode, gid }: Stats): string | null {
  const caller = callerId();
  if (caller === null) return null;
  const bits = `(mode ${(mode & 0o777).toString(8)})`;
  if ((mode & 0o002) !== 0) return `everyone ${bits}`;
  // A group of the caller's own, as useradd makes one for each user, has no other member.
  const isPrivate = gid === process.getegid?.() && gid === caller;
  return (mode & 0o020) !== 0 && !isPrivate ? `group ${gid} ${bits}` : null;
}

function kindOf(found: Stats): string {
  if (found.isDirectory()) return 'is a directory';
  return found.isFIFO() ? 'is a pipe' : 'is a device or a socket';
}
