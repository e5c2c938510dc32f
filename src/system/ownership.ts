// The owner of a file or folder, and which other users can write to it, by its mode bits. The one
// rule for everything that is found and not named: configurations, the server in the cache, and
// compiled code.

import type { Stats } from 'node:fs';
import { callerId } from './caller.ts';

/** Which other users can write to it; null: none, or the system knows no users. */
export function otherWritersOf({ mode, gid }: Stats): 'everyone' | 'group' | null {
  const caller = callerId();
  if (caller === null) return null;
  if ((mode & 0o002) !== 0) return 'everyone';
  // The private group that useradd(8) makes for each user has no other member.
  const isPrivate = gid === process.getegid?.() && gid === caller;
  return (mode & 0o020) !== 0 && !isPrivate ? 'group' : null;
}

/** Whether it is the caller's own, is no link, and no other user can write to it. */
export function isOwn(found: Stats): boolean {
  const isCallers = found.uid === (callerId() ?? found.uid);
  return isCallers && !found.isSymbolicLink() && otherWritersOf(found) === null;
}
