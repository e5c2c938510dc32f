// The process for which a lock is held in the background: which one it is, and whether it is still
// there. It ends none.
//
// Note: numbers are given again, so the time of its start goes with a number. And a shell that runs
// `token=$(redlockctl ...)` may do so in a copy of itself, which is gone a moment later: a copy
// counts as the shell that it was made of.

import { readFileSync, readlinkSync } from 'node:fs';
import type { OwnerProcess } from './ctl/call.ts';
import { type ProcessEntry, processEntry } from './run/processes/process-table.ts';

/** null: there is no such process, or we may not see it. */
export function ownerOf(pid: number): OwnerProcess | null {
  const entry = processEntry(pid);
  return entry && { pid, startedAt: entry.startedAt };
}

/** The process that has called us: our parent, or what that is a copy of. */
export function callerOf(parentPid: number): OwnerProcess | null {
  let pid = parentPid;
  for (let entry = seen(pid); entry !== null; entry = seen(pid)) {
    if (entry.parent < 1 || !isCopy(entry, seen(entry.parent))) break;
    pid = entry.parent;
  }
  return ownerOf(pid);
}

/** One that has ended and waits for its parent (a zombie) is not. */
export function isThere({ pid, startedAt }: OwnerProcess): boolean {
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
    return false; // Another user's, or gone.
  }
}

/** Linux alone: elsewhere a copy cannot be told from its original. */
function seen(pid: number): ProcessEntry | null {
  return process.platform === 'linux' ? processEntry(pid) : null;
}

/** Loads what a run needs for that, and so shows whether it can be loaded. */
export async function whyNotKept(): Promise<string | null> {
  const { libcForTree } = await import('./run/processes/kept-tree.ts');
  try {
    libcForTree();
    return null;
  } catch (error) {
    return (error as Error).message.replace(/^guard: /, '');
  }
}
