// Ends the leftover processes of a command before its lock is released, because another run may
// hold the lock a moment later.

import type { Clock } from '../lock/ports.ts';
import type { Child } from './child.ts';

/** The interval between two counts of processes that were sent the stop signal. */
const lookMs = 50;

export interface AftermathParts {
  readonly child: Child;
  /** The number of leftover processes when the command ended. */
  readonly leftCount: number;
  readonly clock: Clock;
  /** Called once with their number, before the wait for their end. */
  readonly onLeftovers: (count: number) => void;
  /** Aborts when their time is up, and they are being killed. */
  readonly killing: AbortSignal;
}

/** Resolves with the unkillable processes, when no others are left. */
export async function endLeftovers(parts: AftermathParts): Promise<readonly number[]> {
  const { child, leftCount, clock, onLeftovers, killing } = parts;
  if (leftCount > 0 && !killing.aborted) onLeftovers(leftCount);
  for (let count = leftCount; count > 0 && !killing.aborted; count = await child.countAlive()) {
    await clock.sleep(lookMs, killing);
  }
  return killing.aborted || child.hasNamespace ? await child.kill() : [];
}
