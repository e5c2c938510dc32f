// Finds a redis-server or valkey-server on this machine: on the PATH first, then the copy that the
// set-up of a checkout unpacks into the user's cache. It installs nothing and runs nothing.
// *Invariant:* the copy is the caller's own, with all folders from the home directory on, and no
// other user can write to any of them: under sudo and su, HOME may be that of another user, whose
// program root must not run.
// *Note:* Debian's redis-tools contains the server without its name. redis-server, redis-check-rdb
// and redis-check-aof are one program that acts by argv[0], so redis-check-rdb can be started as
// redis-server.

import { constants } from 'node:fs';
import { access, lstat, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { isOwn } from '../system/ownership.ts';

export interface ServerProgram {
  readonly path: string;
  /** The name that makes the executable a server. */
  readonly argv0: string;
  /** The whole environment that it needs; empty for a program of the system. */
  readonly environment: Readonly<Record<string, string>>;
}

/** In the order of preference: a program under its own name comes first. */
const PROGRAMS_ON_PATH = [
  { file: 'redis-server', argv0: 'redis-server' },
  { file: 'valkey-server', argv0: 'valkey-server' },
  { file: 'redis-check-rdb', argv0: 'redis-server' },
  { file: 'valkey-check-rdb', argv0: 'valkey-server' },
] as const;

/** The folder of the copy that the set-up unpacks: bin/redis-server with its libraries in lib/. */
export function cachedServerDirectory(environment: NodeJS.ProcessEnv): string {
  return cacheFolders(environment).at(-1) as string;
}

/** That folder, after those in which it lies. */
function cacheFolders({ XDG_CACHE_HOME, HOME }: NodeJS.ProcessEnv): string[] {
  const isSet = XDG_CACHE_HOME !== undefined && isAbsolute(XDG_CACHE_HOME);
  const above = isSet ? [XDG_CACHE_HOME] : [HOME || homedir(), join(HOME || homedir(), '.cache')];
  const own = join(above.at(-1) as string, 'redlock-run');
  return [...above, own, join(own, 'redis-server')];
}

/** The first server program found by PATH or in the cache; null: there is none. */
export async function findServerProgram(
  environment: NodeJS.ProcessEnv,
): Promise<ServerProgram | null> {
  // An entry that is not absolute depends on the working directory; a server must not.
  const directories = (environment.PATH ?? '').split(delimiter).filter(isAbsolute);
  for (const { file, argv0 } of PROGRAMS_ON_PATH) {
    for (const directory of directories) {
      const path = join(directory, file);
      if (await isExecutable(path)) return { path, argv0, environment: {} };
    }
  }
  const folders = cacheFolders(environment);
  const [bin, lib] = ['bin', 'lib'].map((name) => join(folders.at(-1) as string, name));
  const path = join(bin as string, 'redis-server');
  if (!(await isExecutable(path))) return null;
  const all = [...folders, bin, lib, path] as string[];
  const areOwn = await Promise.all(all.map(async (each) => isOwn(await lstat(each))));
  return areOwn.every((each) => each)
    ? { path, argv0: 'redis-server', environment: { LD_LIBRARY_PATH: lib as string } }
    : null;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
