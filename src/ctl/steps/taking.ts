// How a lock is taken by a process that others go on without: what `acquire` and `hold` have in common. It knows no words, prints nothing and
// reaches the masters through what it is given, so the simulator runs it as it is. The surprise: it waits in the same queue as redlock-run,
// under an id of its own, and is served in the same order.

import { type Acquisition, acquire } from '../../lock/acquire.ts';
import { type HolderNote, renderValue } from '../../lock/holder.ts';
import { alone, type Clock, type Random } from '../../lock/ports.ts';
import type { Redlock } from '../../lock/redlock.ts';

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
export function take(parts: TakingParts, wanted: Wanted, aborted: AbortSignal): Promise<Acquisition> {
  const { redlock, clock, random, newToken, note } = parts;
  const { name, ttlMs, waitMs, isFenced } = wanted;
  const newClaim = () => {
    return { ...alone, resources: [name], value: renderValue(newToken(), note()), ttlMs, isFenced, waiter: null };
  };
  const waiting = { redlock, clock, random, report: () => {}, newClaim, waiterId: newToken() };
  return acquire(waiting, { waitMs, giveUpAfterMs, aborted });
}
