// Whether this process is part of a script for which redlockctl hold holds a lock. Where the script
// asks for the same name again, it would wait for itself: the lock is released when it ends.

import type { HolderRecord } from '../lock/value.ts';
import { entryAbove, processEntry } from '../system/process-table.ts';

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
  if (processEntry(pid)?.isAlive !== true) return false;
  // Every process descends from process 1. As the script of a container it has the session of what
  // it starts; init has not.
  if (forPid === 1) return processEntry(process.pid)?.session === processEntry(1)?.session;
  return entryAbove(forPid) !== null;
}
