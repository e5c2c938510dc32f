// The masters of --local: three servers of this user on this machine, on unix sockets in a private
// folder, without TCP and without persistence. Runs find them by their sockets and start those that
// are missing. They do not protect against the loss of the machine: they are for the jobs of one
// machine, and for trials. *Note:* they keep running. No run stops them at its end, because another
// run may wait on them.

import { isPrivateDirectory, ownDirectory, socketPaths } from './directory.ts';
import { isListening } from './server.ts';
import type { Environment } from './server-program.ts';

export interface LocalMastersOptions {
  /** The folder of their sockets; null: this user's own. Must not be open to others. */
  directory: string | null;
  /** Its PATH, HOME and XDG_CACHE_HOME lead to the server program, if one has to be started. */
  environment: Environment;
}

/**
 * The paths of three unix sockets, each with a server listening (it may be frozen). Costs three
 * connects when all are present. Throws LocalError, and NoServerProgram when a server is missing
 * and no program for one was found.
 */
export async function startLocalMasters({
  directory,
  environment,
}: LocalMastersOptions): Promise<string[]> {
  const folder = directory ?? ownDirectory();
  const sockets = socketPaths(folder);
  if (isPrivateDirectory(folder) && (await areListening(sockets))) return sockets;
  const { startMissing } = await import('./start-missing.ts');
  await startMissing(folder, sockets, environment);
  return sockets;
}

export interface LocalMaster {
  readonly socket: string;
  /** Something listens there; it may be frozen. */
  readonly isListening: boolean;
}

/**
 * Which of the three are present; starts nothing. Throws LocalError when the folder is not this
 * user's alone.
 */
export async function localMasters(directory: string | null): Promise<LocalMaster[]> {
  const folder = directory ?? ownDirectory();
  const isThere = isPrivateDirectory(folder);
  return Promise.all(
    socketPaths(folder).map(async (socket) => ({
      socket,
      isListening: isThere && (await isListening(socket)),
    })),
  );
}

async function areListening(sockets: readonly string[]): Promise<boolean> {
  return (await Promise.all(sockets.map(isListening))).every(Boolean);
}
