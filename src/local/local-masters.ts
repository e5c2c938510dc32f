// The masters of --local: three servers of this user on this machine, on unix sockets in a private
// folder, without TCP and without persistence. Runs find them by their sockets and start those that
// are missing. They do not protect against the loss of the machine: they are for the jobs of one
// machine, and for trials. *Note:* they keep running. No run stops them at its end, because another
// run may wait on them.

import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import { isListening, isPrivateDirectory, ownDirectory, socketPaths } from './directory.ts';

export interface LocalMaster {
  readonly socket: string;
  /** Something listens there; it may be frozen. */
  readonly isListening: boolean;
}

/**
 * Which of the three are present; starts nothing. `directory`: the folder of their sockets; null:
 * this user's own. Throws LocalError when the folder is not this user's alone.
 */
export async function localMasters(directory: string | null): Promise<LocalMaster[]> {
  const folder = directory ?? ownDirectory();
  const sockets = socketPaths(folder);
  const isThere = isPrivateDirectory(folder);
  return Promise.all(
    sockets.map(async (socket) => ({
      socket,
      isListening: isThere && (await isListening(socket)),
    })),
  );
}

/**
 * The paths of the three sockets, each with a server listening. Costs three connects when all are
 * present. PATH, HOME and XDG_CACHE_HOME of `environment` lead to the server program, if one has to
 * be started. Throws LocalError.
 */
export async function startLocalMasters(
  directory: string | null,
  environment: NodeJS.ProcessEnv,
): Promise<string[]> {
  const masters = await localMasters(directory);
  const sockets = masters.map(({ socket }) => socket);
  if (masters.every((master) => master.isListening)) return sockets;
  const { startMissing } = await import('./start-missing.ts');
  await startMissing(directory ?? ownDirectory(), sockets, environment);
  return sockets;
}

/**
 * Whether the masters of a run are still those that later runs find. If a clean-up of /tmp removes
 * their folder or their sockets, they keep running, and stay connected, while the next run starts
 * others in their place: that would be a second lock.
 *
 * Looks at the folder and the sockets, which must exist, and returns a function that looks again:
 * null while they are the same, otherwise what happened to them. A single server that was restarted
 * does not count: the votes of the others decide. To be called before the first connection; a look
 * costs four calls of lstat(2).
 *
 * *Note:* the system does not reuse these inode numbers while a server lives: the folder is its
 * working directory, and its socket is bound to the inode.
 */
export function rememberServers(sockets: readonly string[]): () => string | null {
  const folder = dirname(sockets[0] ?? '');
  const [folderBefore, socketsBefore] = [identityOf(folder), sockets.map(identityOf)];
  return () => {
    if (identityOf(folder) !== folderBefore) return `local masters: ${folder}: removed or replaced`;
    const same = sockets.filter((socket, at) => identityOf(socket) === socketsBefore[at]);
    const isMajority = 2 * same.length > sockets.length;
    return isMajority ? null : `local masters: ${folder}: sockets removed or replaced`;
  };
}

/** null: it does not exist, or cannot be examined. */
function identityOf(path: string): string | null {
  try {
    const { dev, ino } = lstatSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}
