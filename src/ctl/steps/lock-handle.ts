// A lock known by a name and a token, in separate steps: it is extended, released and checked.
// All of it reaches the masters through its parameters, so the simulator runs it as it is. Each
// step reads the lock, because masters compare the whole value, of which the token is only a part.

import { defaultDriftFactor, quorumOf, validUntilOf } from '../../lock/quorum.ts';
import type { Redlock } from '../../lock/redlock.ts';
import { alone, type ReleaseReply, type Sharing } from '../../lock/types.ts';
import { keeperIdOf } from '../../lock/waiter-id.ts';
import { isFailed } from '../../redis/errors.ts';
import { holdingsOf } from '../holdings.ts';
import { holdingsByToken, type MasterReport, shownByQuorum } from '../lock-state.ts';
import type { MasterQuery } from '../master-query.ts';

export interface LockHandle {
  readonly name: string;
  readonly token: string;
}

/** unknown: too few masters answered to tell. */
export type Answer =
  /** `validMs` is infinite for a value without an expiry. */
  | { readonly kind: 'held'; readonly validMs: number }
  | { readonly kind: 'released' | 'lost' | 'unknown' };

/** How often a lock is read whose remaining time is shorter than an answer takes. */
const lookCount = 3;

/** Extends the lock to `ttlMs` from now, by a Redlock on the masters of the query. */
export async function extendBy(
  handle: LockHandle,
  ttlMs: number,
  query: MasterQuery,
  redlock: Redlock,
): Promise<Answer> {
  const { clock } = query;
  for (let tryCount = 1; ; tryCount += 1) {
    const askedAt = clock.now();
    const ownership = await ownershipNow(handle, query);
    if (ownership.kind !== 'held') return ownership;
    const { value, sharing, fence, remainingMs } = ownership;
    const wish = { ...alone, resources: [handle.name], sharing, ttlMs, isFenced: fence !== null };
    const claim = { ...wish, token: handle.token, value, waiter: null };
    const lease = { claim, startedAt: askedAt, validUntil: askedAt + remainingMs, fence };
    const extension = await redlock.extend(lease, new AbortController().signal);
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
export async function releaseByToken(handle: LockHandle, query: MasterQuery): Promise<Answer> {
  const { name, token } = handle;
  const ownership = await ownershipNow(handle, query);
  if (ownership.kind !== 'held') return ownership;
  query.reset();
  const { value, sharing } = ownership;
  const replies = await query.ask<ReleaseReply>((master) => master.remove(name, value, sharing));
  const removedCount = replies.filter(({ kind }) => kind !== 'failed').length;
  const isConfirmed = removedCount > replies.length / 2;
  // The daemon then knows that the lock was released, and not lost.
  if (isConfirmed) await query.ask((master) => master.publish(name, keeperIdOf(token), ''));
  return { kind: isConfirmed ? 'released' : 'unknown' };
}

/** Whether the lock is held now, and for how long at least, clock drift included. */
export async function look(handle: LockHandle, query: MasterQuery): Promise<Answer> {
  const { clock } = query;
  for (let tryCount = 1; ; tryCount += 1) {
    const askedAt = clock.now();
    const ownership = await ownershipNow(handle, query);
    if (ownership.kind !== 'held') return ownership;
    if (ownership.remainingMs === Number.POSITIVE_INFINITY)
      return { kind: 'held', validMs: ownership.remainingMs };
    const { remainingMs } = ownership;
    const validMs = validUntilOf(askedAt, remainingMs, defaultDriftFactor) - clock.now();
    if (validMs > 0) return { kind: 'held', validMs };
    // It may have expired while the masters were answering.
    if (tryCount === lookCount) return { kind: 'unknown' };
  }
}

async function ownershipNow({ name, token }: LockHandle, query: MasterQuery): Promise<Ownership> {
  query.reset();
  const [reports = []] = await query.reports([name]);
  return ownershipOf(reports, token);
}

/** lost: a quorum shows that it is not held with this token. unknown: too few masters answered. */
type Ownership =
  | {
      readonly kind: 'held';
      readonly value: string;
      readonly sharing: Sharing;
      /** Infinite for a value without an expiry. */
      readonly remainingMs: number;
      readonly fence: number | null;
    }
  | { readonly kind: 'lost' | 'unknown' };

/**
 * A quorum that shows the value confirms that no other client has had the lock since, because a
 * lost value never comes back.
 */
export function ownershipOf(reports: readonly MasterReport[], token: string): Ownership {
  const quorum = quorumOf(reports.length);
  const { value, sharing } = holdingsByToken(reports).get(token) ?? {};
  const snapshots = reports.flatMap(({ snapshot }) => (isFailed(snapshot) ? [] : [snapshot]));
  const own = snapshots.flatMap((snapshot) => {
    const holding = holdingsOf(snapshot).find((one) => one.value === value);
    return holding === undefined ? [] : [{ ...holding, fence: snapshot.fence }];
  });
  const silentCount = reports.length - snapshots.length;
  if (value === undefined || sharing === undefined || own.length < quorum)
    return { kind: own.length + silentCount >= quorum ? 'unknown' : 'lost' };
  const remaining = own
    .map(({ remainingMs }) => remainingMs ?? Number.POSITIVE_INFINITY)
    .sort((a, b) => b - a);
  const fence = shownByQuorum(
    own.flatMap((one) => one.fence ?? []),
    quorum,
  );
  return { kind: 'held', value, sharing, remainingMs: remaining[quorum - 1] ?? 0, fence };
}
