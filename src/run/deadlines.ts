// The deadlines of a lease for the guard: in how many ms it has to stop the command, and in how
// many to kill it, if redlock-run does not.

import { stopAtOf } from '../lock/lease-keeper.ts';
import type { Clock } from '../lock/ports.ts';
import type { Lease } from '../lock/types.ts';

/** Both in ms before the end of validity. */
export interface Reserves {
  readonly reserveMs: number;
  readonly marginMs: number;
}

/** Both in ms from the call. */
export type TimeLeft = () => readonly [stopInMs: number, killInMs: number];

/**
 * *Invariant:* the guard counts from clock readings that were taken before the call. So a process
 * that is suspended between the two makes the deadlines earlier, and never later.
 */
export function timeLeftOf(
  lease: Lease,
  { reserveMs, marginMs }: Reserves,
  clock: Clock,
): TimeLeft {
  return () => {
    const now = clock.now();
    return [stopAtOf(lease, reserveMs) - now, stopAtOf(lease, marginMs) - now];
  };
}
