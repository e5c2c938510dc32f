// Whether the local masters of a run are still those that later runs find. A clean-up of /tmp
// that removes their folder or their sockets leaves them running, and connected, while the next
// run starts servers of its own in their place: that would be a second lock.

import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Looks at the folder and the sockets, which must be there, and returns a function that looks
 * again: null while they are the same, else what happened to them. One server that was started
 * anew is left to the votes of the others. To be called before the first connection; a look takes
 * no more than four calls of lstat(2).
 *
 * Note: no inode number is given out anew while a server lives: it works in the folder, and its
 * socket is bound to the inode.
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

/** Null: it is not there, or may not be looked at. */
function identityOf(path: string): string | null {
  try {
    const { dev, ino } = lstatSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}
