// Finds a redis-server or valkey-server on this machine: on the PATH first, then the copy that the
// set-up of a checkout unpacks into the user's cache. It installs nothing and runs nothing.
// *Invariant:* the copy is the caller's own, with all folders from the home directory on, and no
// other user can write to any of them: under sudo and su, HOME may be that of another user, whose
// program root must not run.
// *Note:* Debian's redis-tools contains the server without its name. redis-server, redis-check-rdb
// and redis-check-aof are one program that acts by argv[0], so redis-check-rdb can be started as
// redis-server.

import { accessSync, constants, lstatSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { isOwn } from '../system/ownership.ts';

export interface ServerProgram {
  readonly path: string;
  /** The name that makes the executable a server. */
  readonly argv0: string;
  /** The whole environment that it needs; empty for a program of the system. */
  readonly environment: Readonly<Record<string, string>>;
}

/** File and argv[0], in the order of preference: a program under its own name comes first. */
const programsOnPath = [
  ['redis-server', 'redis-server'],
  ['valkey-server', 'valkey-server'],
  ['redis-check-rdb', 'redis-server'],
  ['valkey-check-rdb', 'valkey-server'],
] as const;

/** The folder of the copy that the set-up unpacks: bin/redis-server with its libraries in lib/. */
export function cachedServerDirectory(environment: NodeJS.ProcessEnv): string {
  return join(cacheFolders(environment)[0], 'redlock-run', 'redis-server');
}

/** The user's cache, and the home directory where the cache is in it. */
function cacheFolders({
  XDG_CACHE_HOME,
  HOME,
}: NodeJS.ProcessEnv): [cache: string, ...home: string[]] {
  if (XDG_CACHE_HOME !== undefined && isAbsolute(XDG_CACHE_HOME)) return [XDG_CACHE_HOME];
  const home = HOME || homedir();
  return [join(home, '.cache'), home];
}

/** The first server program found by PATH or in the cache; null: there is none. */
export function findServerProgram(environment: NodeJS.ProcessEnv): ServerProgram | null {
  // An entry that is not absolute depends on the working directory; a server must not.
  const directories = (environment.PATH ?? '').split(delimiter).filter(isAbsolute);
  for (const [file, argv0] of programsOnPath) {
    const path = directories.map((directory) => join(directory, file)).find(isExecutable);
    if (path !== undefined) return { path, argv0, environment: {} };
  }
  const folder = cachedServerDirectory(environment);
  const [path, lib] = [join(folder, 'bin', 'redis-server'), join(folder, 'lib')];
  const all = [path, dirname(path), lib, folder, dirname(folder), ...cacheFolders(environment)];
  if (!isExecutable(path) || !all.every((each) => isOwn(lstatSync(each)))) return null;
  return { path, argv0: 'redis-server', environment: { LD_LIBRARY_PATH: lib } };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
