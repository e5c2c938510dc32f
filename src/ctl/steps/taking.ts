// How a lock is taken by a process that others go on without: what `acquire` and `hold` have in
// common. It waits in the same queue as redlock-run, under an id of its own. It reaches the masters
// through what it is given, so the simulator runs it as it is.

import type { Clock, Random } from '../../lock/ports.ts';
import type { Redlock } from '../../lock/redlock.ts';
import { type HolderNote, newClaim } from '../../lock/value.ts';
import { type Acquisition, waitForLock } from '../../lock/wait.ts';

export interface TakingParts {
  readonly redlock: Redlock;
  readonly clock: Clock;
  readonly random: Random;
  /** One that nobody can guess and nobody has had before. */
  readonly newToken: () => string;
  /** Who holds it, for people. */
  readonly note: () => HolderNote;
}

export interface Wanted {
  readonly name: string;
  readonly ttlMs: number;
  /** null: for ever. */
  readonly waitMs: number | null;
  readonly isFenced: boolean;
}

/** As redlock-run's `giveUpAfter`. */
const giveUpAfterMs = 10_000;

/** Waits for the lock. */
export function take(
  parts: TakingParts,
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
