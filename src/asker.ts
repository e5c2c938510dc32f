// The process for which a lock is held in the background: which one it is, and whether it is still there. It ends nobody. Two surprises: a
// number alone names no process, because numbers are given again, so the time of its start goes with it; and a shell that runs
// `token=$(redlockctl ...)` may do so in a copy of itself, which is gone a moment later: a copy counts as the shell that it was made of.

import { readFileSync, readlinkSync } from 'node:fs';
import type { Asker } from './ctl/call.ts';
import { parseStat, processTable, type Stat } from './run/tree/process-table.ts';

/** null: there is no such process, or we may not see it. */
export function askerOf(pid: number): Asker | null {
  const startedAt = processTable.startedAt(pid);
  return startedAt === null ? null : { pid, startedAt };
}

/** Who has called us: our parent, or what that is a copy of. */
export function callerOf(parentPid: number): Asker | null {
  let pid = parentPid;
  for (let stat = statOf(pid); stat !== null; stat = statOf(pid)) {
    if (stat.parent < 1 || !isCopy(stat, statOf(stat.parent))) break;
    pid = stat.parent;
  }
  return askerOf(pid);
}

/** One that has ended and waits for its parent (a zombie) is not. */
export function isThere({ pid, startedAt }: Asker): boolean {
  if (processTable.startedAt(pid) !== startedAt) return false;
  return process.platform !== 'linux' || statOf(pid)?.isAlive === true;
}

function isCopy(stat: Stat, parent: Stat | null): boolean {
  if (parent === null || stat.session !== parent.session) return false;
  try {
    const [own, original] = [stat, parent].map(({ pid }) => [
      readlinkSync(`/proc/${pid}/exe`),
      readFileSync(`/proc/${pid}/cmdline`, 'utf8'),
    ]);
    return String(own) === String(original);
  } catch {
    return false; // Somebody else's, or gone.
  }
}

/** Linux alone. */
function statOf(pid: number): Stat | null {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return null;
  }
}
