// Between the end of the command and the release of its lock: the processes that it left behind are
// ended, because the lock may be held by another run a moment later.

import type { Clock } from '../lock/ports.ts';
import type { Child } from './child.ts';

/** Between two counts of processes that have been told to end. */
const lookMs = 50;

export interface AftermathParts {
  readonly child: Child;
  /** How many were left when the command ended. */
  readonly leftCount: number;
  readonly clock: Clock;
  /** So many are left; called once, before they are waited for. */
  readonly onLeftovers: (count: number) => void;
  /** Their time is up, and they are being killed. */
  readonly killing: AbortSignal;
}

/** Resolves when no process is left, with those that cannot be killed. */
export async function endLeftovers(parts: AftermathParts): Promise<readonly number[]> {
  const { child, leftCount, clock, onLeftovers, killing } = parts;
  if (leftCount > 0 && !killing.aborted) onLeftovers(leftCount);
  for (let count = leftCount; count > 0 && !killing.aborted; count = await child.countAlive()) {
    await clock.sleep(lookMs, killing);
  }
  return killing.aborted || child.hasNamespace ? await child.kill() : [];
}
