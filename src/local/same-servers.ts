// Whether the masters of a run are still those that later runs find. If a clean-up of /tmp removes
// their folder or their sockets, they keep running, and stay connected, while the next run starts
// others in their place: that would be a second lock.

import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';

/**
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
    const sameCount = sockets.filter(
      (socket, at) => identityOf(socket) === socketsBefore[at],
    ).length;
    const isMajority = 2 * sameCount > sockets.length;
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
