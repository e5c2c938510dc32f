// A lock acquired for a script or a daemon: nothing but the lock has to be ready. All of it reaches
// the masters through its parameters, so the simulator runs it as it is.

import assert from 'node:assert/strict';
import { acquire, type IdentifiedServer } from '../../lock/acquire.ts';
import type { Clock, Random, Report } from '../../lock/ports.ts';
import type { Redlock } from '../../lock/redlock.ts';
import { alone, type Claim, type Sharing } from '../../lock/types.ts';
import { type HolderRecord, newClaim } from '../../lock/value.ts';
import { type Acquisition, type IsHeldAround, waitForLock } from '../../lock/wait.ts';

export interface AcquireOnceParts {
  readonly redlock: Redlock;
  /** The masters of the lock; one that may not be in the list ends the step. */
  readonly servers: readonly IdentifiedServer[];
  readonly report: Report;
  readonly clock: Clock;
  readonly random: Random;
  /** A new token: never used before, and not to be guessed. */
  readonly newToken: () => string;
  /** The holder record, for people. */
  readonly holderRecord: () => HolderRecord;
  /** The id in the wait queue, made from a random one: it tells people which process waits. */
  readonly waiterIdOf: (random: string) => string;
  /** null: no run around this process has the name of this lock. */
  readonly isHeldAround: IsHeldAround | null;
}

export interface Wanted {
  readonly name: string;
  readonly ttlMs: number;
  /** null: without limit. */
  readonly waitMs: number | null;
  /** How long to go on when no quorum answers. */
  readonly giveUpAfterMs: number;
  readonly isFenced: boolean;
  readonly sharing: Sharing;
}

/** Waits for the lock, and for the masters to say what they are. */
export async function acquireOnce(
  parts: AcquireOnceParts,
  wanted: Wanted,
  aborted: AbortSignal,
): Promise<Acquisition> {
  const { redlock, clock, random, newToken, holderRecord, waiterIdOf } = parts;
  const { servers, report, isHeldAround } = parts;
  const { name, ttlMs, waitMs, giveUpAfterMs, isFenced, sharing } = wanted;
  const waiting = {
    redlock,
    clock,
    random,
    report,
    newClaim: () =>
      newClaim(
        { ...alone, resources: [name], ttlMs, isFenced, sharing },
        newToken(),
        holderRecord(),
      ),
    waiterId: waiterIdOf(newToken()),
    lineOf: () => null,
    isHeldAround,
  };
  const shared = { retries: null, maxWaiters: null, giveUpAfterMs, aborted };
  const acquiring = {
    clock,
    report,
    servers,
    wait: (leftMs: number | null) => waitForLock(waiting, { ...shared, waitMs: leftMs }),
    release: (claim: Claim) => redlock.release(claim, 0, null),
    ready: async () => null,
  };
  const limits = { waitMs, aborted, reserveMs: 0, isIdentifying: true };
  const acquisition = await acquire(acquiring, limits);
  assert(acquisition.kind !== 'not-ready', 'a step needs nothing to be ready');
  return acquisition;
}
