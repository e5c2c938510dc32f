// The server program that a test starts: the one in REDIS_SERVER, else the one of this machine.

import { basename } from 'node:path';
import { findServerProgram, type ServerProgram } from '../../src/local/server-program.ts';

/** Whether the tests run on KeyDB, which behaves differently in a few places. */
export const isKeyDb = basename(process.env.REDIS_SERVER ?? '').startsWith('keydb');

/** Throws where there is none: `npm test` installs one. */
export async function serverProgram(): Promise<ServerProgram> {
  const path = process.env.REDIS_SERVER;
  if (path) {
    // Debian's redis-tools contains the server as redis-check-rdb, which acts by its name.
    const argv0 = basename(path).startsWith('valkey') ? 'valkey-server' : 'redis-server';
    return { path, argv0, environment: {} };
  }
  const program = findServerProgram(process.env);
  if (program === null)
    throw new Error('no redis-server on this machine (run `npm test`, which gets one)');
  return program;
}
