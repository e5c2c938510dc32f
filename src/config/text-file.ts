// Reads files that people write: a configuration, a password, a certificate. Reading stops at a
// limit, because the file may be a pipe, as <(...) of a shell is, or a device that never ends.
// *Invariant:* a configuration file that was found, and not named, is read only when it is a
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
import { ConfigError, fileError, isMissing } from '../text/errors.ts';

/** In bytes: many times the size of any configuration. */
const maxBytes = 1024 * 1024;

export interface ReadFile {
  readonly bytes: Buffer;
  readonly found: Stats;
}

/** @throws as node:fs does; ERR_TOO_LONG where there is more than 1 MiB */
export function readTextFile(path: string): ReadFile {
  return readDescriptor(openSync(path, 'r'), () => {});
}

/** Whether any user can read it. A group may be meant to, as for the secrets of a container. */
export function isReadableByOthers(mode: number): boolean {
  return (mode & constants.S_IROTH) !== 0;
}

/** Reads and closes an open file that `check` does not refuse. */
function readDescriptor(descriptor: number, check: (found: Stats) => void): ReadFile {
  try {
    const found = fstatSync(descriptor);
    check(found);
    const chunks: Buffer[] = [];
    let byteCount = 0;
    for (;;) {
      const chunk = Buffer.alloc(65_536);
      const count = readSync(descriptor, chunk);
      if (count === 0) return { bytes: Buffer.concat(chunks), found };
      byteCount += count;
      if (byteCount > maxBytes) throw Object.assign(new Error(), { code: 'ERR_TOO_LONG' });
      chunks.push(chunk.subarray(0, count));
    }
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Reads a file that was found; null when it does not exist, or its folder may not be entered.
 * @throws ConfigError when it is not trusted, or cannot be read
 */
export function readTrusted(path: string): ReadFile | null {
  const refuse = (why: string | null) => {
    if (why !== null)
      throw new ConfigError(`config: ${path}: ${why} (name it by --config to use it)`);
  };
  try {
    const entry = lstatSync(path);
    if (!isOfCallerOrRoot(entry)) {
      const what = entry.isSymbolicLink() ? 'is a link that belongs' : 'belongs';
      refuse(`${what} to ${userOf(entry.uid)}, not to you or root`);
    }
    refuse(reasonToRefuse(statSync(path)));
    // It may be replaced by a pipe now; open(2) must not block on it.
    const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
    return readDescriptor(openSync(path, flags), (found) => refuse(reasonToRefuse(found)));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (isMissing(error) || (code === 'EACCES' && syscall !== 'open')) return null;
    const why = fileError(error, 'read');
    throw new ConfigError(`config: ${path}: ${why} (name a readable YAML file by --config)`);
  }
}

function reasonToRefuse(found: Stats): string | null {
  if (!found.isFile()) return `${kindOf(found)} of ${userOf(found.uid)}, not a regular file`;
  if (!isOfCallerOrRoot(found))
    return `is a link to a file that belongs to ${userOf(found.uid)}, not to you or root`;
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
