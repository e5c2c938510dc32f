// A lock in separate steps: acquired once, and from then on known by a name and a token, with which
// it is extended, released, and asked for. All of it reaches the masters through its parameters, so
// the simulator runs it as it is. Each step but the first reads the lock, because masters compare
// the whole value, of which the token is only a part.

import assert from 'node:assert/strict';
import { acquire, type IdentifiedServer } from '../../lock/acquire.ts';
import type { Clock, Random, Report } from '../../lock/ports.ts';
import { quorumOf, usualDriftFactor, validUntilOf } from '../../lock/quorum.ts';
import type { Redlock } from '../../lock/redlock.ts';
import { alone, type Claim, type Sharing } from '../../lock/types.ts';
import { type HolderRecord, newClaim } from '../../lock/value.ts';
import { type Acquisition, waitForLock } from '../../lock/wait.ts';
import { keeperIdOf } from '../../lock/waiter-id.ts';
import type { LockSnapshot } from '../../redis/snapshot.ts';
import { type Holding, holdingsOf } from '../holdings.ts';
import { holdingsByToken, type MasterReport } from '../lock-state.ts';
import type { MasterQuery } from '../master-query.ts';

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
  const { servers, report } = parts;
  const { name, ttlMs, waitMs, giveUpAfterMs, isFenced, sharing } = wanted;
  const waiting = {
    redlock,
    clock,
    random,
    report,
    newClaim: () =>
      newClaim({ resources: [name], ttlMs, isFenced, sharing }, newToken(), holderRecord()),
    waiterId: waiterIdOf(newToken()),
    recordOf: () => null,
  };
  const unbounded = { retries: null, maxWaiters: null };
  const acquiring = {
    clock,
    report,
    servers,
    wait: (leftMs: number | null) =>
      waitForLock(waiting, { ...unbounded, waitMs: leftMs, giveUpAfterMs, aborted }),
    release: (claim: Claim) => redlock.release(claim, 0, null),
    ready: async () => null,
  };
  const limits = { waitMs, aborted, reserveMs: 0, isIdentifying: true };
  const acquisition = await acquire(acquiring, limits);
  assert(acquisition.kind !== 'not-ready', 'a step needs nothing to be ready');
  return acquisition;
}

// Whether the lock is still held with the token, by what the masters show, and for how long at
// least. A quorum that shows the value confirms that no other client has had the lock since,
// because a lost value never comes back.

/** lost: a quorum shows that it is not held with this token. unknown: too few masters answered. */
export type Ownership =
  | {
      readonly kind: 'held';
      readonly value: string;
      readonly sharing: Sharing;
      /** Infinite for a value without an expiry. */
      readonly remainingMs: number;
      readonly fence: number | null;
    }
  | { readonly kind: 'lost' }
  | { readonly kind: 'unknown' };

export function ownershipOf(reports: readonly MasterReport[], token: string): Ownership {
  const quorum = quorumOf(reports.length);
  const { value, sharing } = holdingsByToken(reports).get(token) ?? {};
  const holdingOf = (snapshot: LockSnapshot): Holding | undefined =>
    holdingsOf(snapshot).find((one) => one.value === value);
  const snapshots = reports.flatMap(({ snapshot }) => ('kind' in snapshot ? [] : [snapshot]));
  const own = snapshots.filter((snapshot) => holdingOf(snapshot) !== undefined);
  const silentCount = reports.length - snapshots.length;
  if (value === undefined || sharing === undefined || own.length < quorum) {
    return own.length + silentCount >= quorum ? { kind: 'unknown' } : { kind: 'lost' };
  }
  const remaining = own
    .map((snapshot) => holdingOf(snapshot)?.remainingMs ?? Number.POSITIVE_INFINITY)
    .sort((a, b) => b - a);
  const fences = own.flatMap(({ fence }) => fence ?? []);
  const fence =
    fences.find((one) => fences.filter((other) => other === one).length >= quorum) ?? null;
  return { kind: 'held', value, sharing, remainingMs: remaining[quorum - 1] ?? 0, fence };
}

export interface LockHandle {
  readonly name: string;
  readonly token: string;
}

/** Access to the masters, each time with connections of its own. */
export interface Access {
  readonly clock: Clock;
  query(): Promise<MasterQuery>;
  redlock(): Promise<{ readonly redlock: Redlock; readonly close: () => void }>;
}

/** unknown: too few masters answered to tell. */
export type Answer =
  /** `validMs` is infinite for a value without an expiry. */
  | { readonly kind: 'held'; readonly validMs: number }
  | { readonly kind: 'released' | 'lost' | 'unknown' };

/** How often a lock is read whose remaining time is shorter than an answer takes. */
const lookCount = 3;

/** Extends the lock to `ttlMs` from now. */
export async function extendBy(handle: LockHandle, ttlMs: number, access: Access): Promise<Answer> {
  const { clock } = access;
  for (let tryCount = 1; ; tryCount += 1) {
    const askedAt = clock.now();
    const ownership = await ownershipNow(handle, access);
    if (ownership.kind !== 'held') return ownership;
    const { value, sharing, fence, remainingMs } = ownership;
    const { redlock, close } = await access.redlock();
    const isFenced = fence !== null;
    const claim = {
      ...alone,
      resources: [handle.name],
      sharing,
      token: handle.token,
      value,
      ttlMs,
      isFenced,
      waiter: null,
    };
    const lease = { claim, startedAt: askedAt, validUntil: askedAt + remainingMs, fence };
    const extension = await redlock.extend(lease);
    close();
    const now = clock.now();
    if (extension.kind === 'unreachable') return { kind: 'unknown' };
    const validMs = extension.kind === 'extended' ? extension.lease.validUntil - now : 0;
    if (validMs > 0) return { kind: 'held', validMs };
    // The extension or its answer came too late to tell: ask once more.
    const isLate = extension.kind === 'extended' || now >= lease.validUntil;
    if (!isLate) return { kind: 'lost' };
    if (tryCount === lookCount) return { kind: 'unknown' };
  }
}

/** Removes the value from every master, and wakes a daemon that holds the lock. */
export async function releaseByToken(handle: LockHandle, access: Access): Promise<Answer> {
  const { name, token } = handle;
  const ownership = await ownershipNow(handle, access);
  if (ownership.kind !== 'held') return ownership;
  const query = await access.query();
  const replies = await query.remove(name, ownership.value, ownership.sharing);
  const removedCount = replies.filter(({ kind }) => kind !== 'failed').length;
  const isConfirmed = removedCount > replies.length / 2;
  // The daemon then knows that the lock was released, and not lost.
  if (isConfirmed) await query.wake(name, keeperIdOf(token));
  query.close();
  return { kind: isConfirmed ? 'released' : 'unknown' };
}

/** Whether the lock is held now, and for how long at least, clock drift included. */
export async function look(handle: LockHandle, access: Access): Promise<Answer> {
  const { clock } = access;
  for (let tryCount = 1; ; tryCount += 1) {
    const askedAt = clock.now();
    const ownership = await ownershipNow(handle, access);
    if (ownership.kind !== 'held') return ownership;
    if (ownership.remainingMs === Number.POSITIVE_INFINITY)
      return { kind: 'held', validMs: ownership.remainingMs };
    const { remainingMs } = ownership;
    const validMs = validUntilOf(askedAt, remainingMs, usualDriftFactor) - clock.now();
    if (validMs > 0) return { kind: 'held', validMs };
    // It may have expired while the masters were answering.
    if (tryCount === lookCount) return { kind: 'unknown' };
  }
}

async function ownershipNow({ name, token }: LockHandle, access: Access): Promise<Ownership> {
  const query = await access.query();
  const [reports = []] = await query.reports([name]);
  query.close();
  return ownershipOf(reports, token);
}
