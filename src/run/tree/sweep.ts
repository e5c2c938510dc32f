// Stops and kills what a tree finds. It decides no deadlines. The surprise: one scan that finds nobody proves little, since
// who forks at that moment is in neither half of it; three, a little apart, do.

import type { Clock } from '../../lock/ports.ts';
import type { Signal } from '../supervisor.ts';
import type { Tree } from './tree.ts';

/** Between two scans that must both find nobody. */
const apartMs = 30;
const emptyScanCount = 3;
const hastyRoundCount = 100;

export interface Swept {
  /** Who was still there when it began. */
  readonly foundCount: number;
  /** Who may not be killed by us (another user's); they are alive. */
  readonly untouchable: readonly number[];
}

/** Sends `signal` to everyone, and SIGCONT after it: a stopped process could not act on it. Returns how many got it. */
export function stopTree(tree: Tree, signal: Signal): number {
  const pids = tree.scan();
  for (const pid of pids) send(pid, signal);
  if (signal !== 'SIGKILL') for (const pid of pids) send(pid, 'SIGCONT');
  return pids.length;
}

/** SIGKILL to everyone until nobody is left but the untouchable. Comes to an end unless the system refuses to kill. */
export async function killTree(tree: Tree, clock: Clock): Promise<Swept> {
  const untouchable = new Set<number>();
  let foundCount = 0;
  let roundCount = 0;
  for (let emptyCount = 0; emptyCount < emptyScanCount; ) {
    const pids = tree.scan().filter((pid) => !untouchable.has(pid));
    foundCount = Math.max(foundCount, pids.length);
    for (const pid of pids) if (!send(pid, 'SIGKILL')) untouchable.add(pid);
    emptyCount = pids.length === 0 ? emptyCount + 1 : 0;
    // Whoever forks in a loop must not be given time to; whoever cannot be killed yet must not cost a core.
    if (emptyCount < emptyScanCount) await clock.sleep(pids.length > 0 && roundCount < hastyRoundCount ? 1 : apartMs);
    roundCount += 1;
  }
  return { foundCount, untouchable: tree.scan().filter((pid) => untouchable.has(pid)) };
}

/** False where we may not. A process that is gone already needs no signal. */
function send(pid: number, signal: Signal): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
