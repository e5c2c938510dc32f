// Whether this process is part of a script for which redlockctl hold holds a lock. Where the script
// asks for the same name again, it would wait for itself: the lock is released when it ends.

import type { HolderRecord } from '../lock/value.ts';
import { processEntry } from '../system/process-table.ts';

/** More than the shells and make programs around any run. */
const maxAncestorCount = 64;

/**
 * Whether the holder is a redlockctl hold on this machine for an ancestor of ours. `ourHost`: its
 * name. *Note:* another machine of the same name may show the same pids, but then its holder would
 * have to be a process here too.
 */
export function isOwnHold(
  { host, pid, forPid }: Pick<HolderRecord, 'host' | 'pid' | 'forPid'>,
  ourHost: string,
): boolean {
  if (forPid === undefined || host !== ourHost) return false;
  return processEntry(pid)?.isAlive === true && isAncestor(forPid);
}

/**
 * Every process descends from process 1. As the script of a container it has the session of what it
 * starts; init has not.
 */
function isAncestor(pid: number): boolean {
  if (pid === 1) return processEntry(process.pid)?.session === processEntry(1)?.session;
  let at = process.ppid;
  for (let count = 0; at > 1 && count < maxAncestorCount; count += 1) {
    if (at === pid) return true;
    at = processEntry(at)?.parent ?? 0;
  }
  return false;
}
