// The process for which a lock is held in the background: which one it is, and whether it still
// lives. It is not ended here. *Note:* the system reuses pids, so the time of the start goes with a
// pid. And a shell may run `token=$(redlockctl ...)` in a copy of itself, which ends a moment
// later: a copy counts as the shell that it was made of.

import { readFileSync, readlinkSync } from 'node:fs';
import { type ProcessEntry, type ProcessId, processEntry } from './process-table.ts';

/** null: there is no such process, or it is hidden from this user. */
export function ownerOf(pid: number): ProcessId | null {
  const entry = processEntry(pid);
  return entry && { pid, startedAt: entry.startedAt };
}

/** The caller of this process: its parent, or the original if the parent is a copy. */
export function callerOf(parentPid: number): ProcessId | null {
  let pid = parentPid;
  for (let entry = seen(pid); entry !== null; entry = seen(pid)) {
    if (entry.parent < 1 || !isCopy(entry, seen(entry.parent))) break;
    pid = entry.parent;
  }
  return ownerOf(pid);
}

/** Whether the process lives. One that has ended and waits for its parent (a zombie) does not. */
export function isThere({ pid, startedAt }: ProcessId): boolean {
  const entry = processEntry(pid);
  return entry !== null && entry.startedAt === startedAt && entry.isAlive;
}

function isCopy(entry: ProcessEntry, parent: ProcessEntry | null): boolean {
  if (parent === null || entry.session !== parent.session) return false;
  try {
    const [own, original] = [entry, parent].map(({ pid }) => [
      readlinkSync(`/proc/${pid}/exe`),
      readFileSync(`/proc/${pid}/cmdline`, 'utf8'),
    ]);
    return String(own) === String(original);
  } catch {
    return false; // It belongs to another user, or has ended.
  }
}

/** Linux only: elsewhere a copy cannot be told from its original. */
function seen(pid: number): ProcessEntry | null {
  return process.platform === 'linux' ? processEntry(pid) : null;
}
