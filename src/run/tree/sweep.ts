// Stops and kills what a tree finds. It decides no deadlines. The surprise: one scan that finds nobody proves little, since
// who forks at that moment may be in neither half of it; three, a little apart, do.

import type { Clock } from '../../lock/ports.ts';
import type { Signal } from '../supervisor.ts';
import type { Members, Tree } from './tree.ts';

/** Between two scans that must both find nobody. */
const apartMs = 30;
const emptyScanCount = 3;
const hastyRoundCount = 100;
/** Who is still there so long after SIGKILL may not be killed by us, or sleeps where no signal wakes him. */
const undyingMs = 10_000;
/** Looks, each of many rounds, before unsettled ones must do: the machine does nothing but fork. */
const mostLooks = 10;

/** Sends `signal` to everyone, and SIGCONT after it: a stopped process could not act on it. */
export function stopTree(tree: Tree, signal: Signal): void {
  const { pids } = tree.scan();
  for (const pid of pids) send(pid, signal);
  if (signal !== 'SIGKILL') for (const pid of pids) send(pid, 'SIGCONT');
}

/** Looks, so that who is seen now stays known when he wipes his environment and loses his parents later. */
export function remember(tree: Tree): void {
  scanned(tree);
}

/** How many are alive. Nobody is only ever said after two looks in a row that were whole; somebody, if none could be had. */
export function countAlive(tree: Tree): number {
  let unreadCount = 0;
  for (let emptyCount = 0, lookCount = 0; emptyCount < 2 && lookCount < mostLooks; lookCount += 1) {
    const members = scanned(tree);
    if (members === null) unreadCount += 1;
    else if (members.pids.length > 0) return members.pids.length;
    emptyCount = members?.isSettled ? emptyCount + 1 : 0;
  }
  return unreadCount === mostLooks ? 1 : 0;
}

/** SIGKILL to everyone until nobody is left, and then who is alive all the same: whom we may not or cannot kill. */
export async function killTree(tree: Tree, clock: Clock): Promise<readonly number[]> {
  const killedAt = new Map<number, number>();
  const untouchable = new Set<number>();
  for (let emptyCount = 0, roundCount = 0; ; roundCount += 1) {
    const members = scanned(tree);
    const present = [...(members?.enclosure ?? []), ...(members?.pids ?? [])];
    const left = present.filter((pid) => !untouchable.has(pid));
    // In one step and first: nobody in a group can fork any more then.
    for (const group of members?.groups ?? []) send(-group, 'SIGKILL');
    for (const pid of left) {
      const firstAt = killedAt.get(pid) ?? clock.now();
      killedAt.set(pid, firstAt);
      if (!send(pid, 'SIGKILL') || clock.now() - firstAt > undyingMs) untouchable.add(pid);
    }
    const isHasty = roundCount < hastyRoundCount;
    if (left.length > 0) emptyCount = 0;
    else if (members?.isSettled || (members && !isHasty)) emptyCount += 1;
    if (emptyCount === emptyScanCount) return present;
    // Whoever forks in a loop must not be given time to; whoever cannot be killed yet must not cost a core.
    await clock.sleep(left.length > 0 && isHasty ? 1 : apartMs);
  }
}

/** null: it could not be read, as when the machine is out of file descriptors; it can in a moment. */
function scanned(tree: Tree): Members | null {
  try {
    return tree.scan();
  } catch {
    return null;
  }
}

/** False where we may not. A process that is gone already needs no signal. */
export function send(target: number, signal: Signal): boolean {
  try {
    process.kill(target, signal);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
