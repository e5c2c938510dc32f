// The private folder of one user's masters: sockets, pid files, logs. The folder is refused if
// another user can read it, can write to it or has created it. *Invariant:* its path depends on the
// user's number alone, never on HOME, TMPDIR or XDG_*, because a cron job and a login shell of one
// user must find the same masters; two folders would be two locks.

import { lstatSync, mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { LocalError, onDisk } from './error.ts';

/** The kernel's limit is 108 bytes with the final NUL, 104 on a Mac. */
const maxSocketPathBytes = 100;
/** For a server to accept a connection, or to start. */
export const serverTimeoutMs = 5_000;

const nameYourOwn = 'name your own masters with --master';
/** Not an advice to remove this folder: the user may have named it, and it may contain anything. */
const nameAnother = 'set localDirectory to another folder';

/** The folder of this user's masters. Throws LocalError where users have no numbers. */
export function ownDirectory(): string {
  return `/tmp/redlock-run-${ownUserId()}`;
}

/**
 * The sockets of the three masters in this folder. Throws LocalError when the kernel could not
 * take their paths.
 */
export function socketPaths(directory: string): string[] {
  const paths = ['m1', 'm2', 'm3'].map((name) => join(directory, `${name}.sock`));
  if (paths.some((path) => Buffer.byteLength(path) > maxSocketPathBytes))
    throw new LocalError(78, directory, 'path too long for a unix socket', 'use a shorter one');
  return paths;
}

/**
 * Whether the folder exists. Throws LocalError if it exists and another user can read it, can
 * write to it or has created it: the owner of the folder decides which run gets the lock.
 */
export function isPrivateDirectory(directory: string): boolean {
  const status = onDisk(directory, () => lstatSync(directory, { throwIfNoEntry: false }));
  if (status === undefined) return false;
  const refuse = (why: string) => new LocalError(78, directory, why, nameAnother);
  if (status.isSymbolicLink()) throw refuse('is a symbolic link');
  if (!status.isDirectory()) throw refuse('is not a directory');
  if (status.uid !== ownUserId()) throw refuse(`belongs to user ${status.uid}, not to you`);
  if ((status.mode & 0o077) !== 0)
    throw refuse(`is open to other users (mode ${(status.mode & 0o777).toString(8)})`);
  return true;
}

/** Creates the folder, for this user alone, unless it exists. Throws as isPrivateDirectory does. */
export function makePrivateDirectory(directory: string): void {
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST')
      throw new LocalError(78, directory, `cannot be made: ${code}`, nameYourOwn);
  }
  isPrivateDirectory(directory);
}

function ownUserId(): number {
  const userId = process.getuid?.();
  if (userId === undefined)
    throw new LocalError(78, process.platform, 'not available on this system', nameYourOwn);
  return userId;
}

/** No socket; a socket without a server; a server that is just ending. */
const meansAbsent = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET'];

/**
 * Whether a server listens on this socket. One that is frozen, or too busy to answer, does: another
 * one in its place would make two locks out of one. Throws LocalError when that is unknown.
 */
export function isListening(socketPath: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    const settle = (code: string) => {
      socket.destroy();
      // EAGAIN: the queue of connections of a frozen server is full.
      if (code === 'EAGAIN' || code === 'connected') return resolve(true);
      if (meansAbsent.includes(code)) return resolve(false);
      const why = `cannot be reached: ${code}`;
      reject(new LocalError(69, socketPath, why, 'see what else uses this folder'));
    };
    socket.setTimeout(serverTimeoutMs, () => settle('ETIMEDOUT'));
    socket.once('connect', () => settle('connected'));
    socket.once('error', (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
  });
}
