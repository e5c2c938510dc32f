// What happens between the end of the command and the release of its lock: whatever it has left behind is ended, because the
// lock may be somebody else's a moment later. The surprise: the usual case, nothing left, must cost next to nothing, so a
// count at one instant is enough here; after a kill, killTree takes three looks, with time between them.

import type { Cancelled, Clock } from '../lock/ports.ts';
import type { Child } from './child.ts';

/** Between two looks at those who have been told to end. */
const lookMs = 50;

export interface AftermathParts {
  readonly child: Child;
  readonly clock: Clock;
  /** Somebody is left, so many; called once, and only where `isOver` is not true yet. */
  readonly onLeftovers: (count: number) => void;
  /** Their time is up, and they are being killed. */
  readonly killing: Cancelled;
}

/** Resolves when nobody is left, with those whom we may not kill. */
export async function endLeftovers({ child, clock, onLeftovers, killing }: AftermathParts): Promise<readonly number[]> {
  let hasBeenTold = false;
  while (!killing.aborted) {
    const count = child.aliveCount();
    if (count === 0) return child.isEnclosed ? await child.kill() : [];
    if (!hasBeenTold) onLeftovers(count);
    hasBeenTold = true;
    await clock.sleep(lookMs, killing);
  }
  return await child.kill();
}
