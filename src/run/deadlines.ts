// The deadlines of a lease for the guard: in how many ms from now it has to stop the command, and
// in how many to kill it, if redlock-run does not.

import { stopAtOf } from '../lock/lease-keeper.ts';
import type { Clock } from '../lock/ports.ts';
import type { Lease } from '../lock/types.ts';

/** Both in ms before the end of validity. */
export interface Reserves {
  readonly reserveMs: number;
  readonly marginMs: number;
}

/** Telling the guard takes no longer, unless this process was suspended meanwhile. */
const promptMs = 20;

export function deadlinesOf(
  lease: Lease,
  { reserveMs, marginMs }: Reserves,
  clock: Clock,
): readonly [stopInMs: number, killInMs: number] {
  const now = clock.now();
  return [stopAtOf(lease, reserveMs) - now, stopAtOf(lease, marginMs) - now];
}

/**
 * Tells the guard again where this process was suspended meanwhile, so that the time was too long.
 */
export function tellDeadlines(
  setDeadlines: (stopInMs: number, killInMs: number) => void,
  lease: Lease,
  reserves: Reserves,
  clock: Clock,
): void {
  const tell = () => {
    const toldAt = clock.now();
    setDeadlines(...deadlinesOf(lease, reserves, clock));
    return clock.now() - toldAt <= promptMs;
  };
  if (!tell()) tell();
}
