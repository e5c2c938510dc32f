// Acquires a lock for `acquire` and `hold`. It waits in the same wait queue as redlock-run. It
// reaches the masters through its parameters, so the simulator runs it as it is.

import type { Clock, Random } from '../../lock/ports.ts';
import type { Redlock } from '../../lock/redlock.ts';
import { type HolderNote, newClaim } from '../../lock/value.ts';
import { type Acquisition, waitForLock } from '../../lock/wait.ts';

export interface AcquireOnceParts {
  readonly redlock: Redlock;
  readonly clock: Clock;
  readonly random: Random;
  /** A new token: never used before, and not to be guessed. */
  readonly newToken: () => string;
  /** The holder record, for people. */
  readonly note: () => HolderNote;
}

export interface Wanted {
  readonly name: string;
  readonly ttlMs: number;
  /** null: without limit. */
  readonly waitMs: number | null;
  readonly isFenced: boolean;
}

/** As redlock-run's `giveUpAfter`. */
const giveUpAfterMs = 10_000;

/** Waits for the lock. */
export function acquireOnce(
  parts: AcquireOnceParts,
  wanted: Wanted,
  aborted: AbortSignal,
): Promise<Acquisition> {
  const { redlock, clock, random, newToken, note } = parts;
  const { name, ttlMs, waitMs, isFenced } = wanted;
  const waiting = {
    redlock,
    clock,
    random,
    report: () => {},
    newClaim: () => newClaim({ resources: [name], ttlMs, isFenced }, newToken(), note()),
    waiterId: newToken(),
  };
  return waitForLock(waiting, { waitMs, giveUpAfterMs, aborted });
}
