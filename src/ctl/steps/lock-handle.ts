// A lock known by a name and a token, in separate steps: it is extended, released, and asked for.
// All of it reaches the masters through its parameters, so the simulator runs it as it is. Each
// step reads the lock, because masters compare the whole value, of which the token is only a part.

import type { Clock } from '../../lock/ports.ts';
import { usualDriftFactor, validUntilOf } from '../../lock/quorum.ts';
import type { Redlock } from '../../lock/redlock.ts';
import { alone } from '../../lock/types.ts';
import { keeperIdOf } from '../../lock/waiter-id.ts';
import type { MasterQuery } from '../master-query.ts';
import { type Ownership, ownershipOf } from './ownership.ts';

export interface LockHandle {
  readonly name: string;
  readonly token: string;
}

/** Access to the masters, each time with connections of its own. */
export interface Access {
  readonly clock: Clock;
  query(): Promise<MasterQuery>;
  redlock(): Promise<{ readonly redlock: Redlock; readonly close: () => Promise<void> }>;
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
    const extension = await redlock.extend(lease, new AbortController().signal);
    await close();
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
