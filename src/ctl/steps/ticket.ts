// What may be done with a name and a token: to extend the lock, to give it back, and to ask whether it is held. It knows no words, prints
// nothing and reaches the masters through what it is given, so the simulator runs it as it is. The surprise: each step begins with a look,
// because the token alone does not say what stands under the key, and only the whole value is compared.

import type { Clock } from '../../lock/ports.ts';
import { validUntilOf } from '../../lock/quorum.ts';
import type { Redlock } from '../../lock/redlock.ts';
import { alone } from '../../lock/types.ts';
import { keeperIdOf } from '../../lock/value.ts';
import type { MasterQuery } from '../survey.ts';
import { type Ownership, ownershipOf } from './held.ts';

export interface Ticket {
  readonly name: string;
  readonly token: string;
}

/** Ways to the masters, each by connections of its own. */
export interface Access {
  readonly clock: Clock;
  survey(): Promise<MasterQuery>;
  redlock(): Promise<{ readonly redlock: Redlock; readonly close: () => void }>;
}

/** unknown: too few masters answered to tell. */
export type Answer =
  /** Infinite for a value of somebody's that never expires. */
  | { readonly kind: 'held'; readonly validMs: number }
  | { readonly kind: 'released' | 'lost' | 'unknown' };

/** So often a lock is looked at whose rest is shorter than an answer takes. */
const lookCount = 3;

/** For another ttl from now. */
export async function extendBy(ticket: Ticket, ttlMs: number, access: Access): Promise<Answer> {
  const { clock } = access;
  for (let tryCount = 1; ; tryCount += 1) {
    const askedAt = clock.now();
    const ownership = await ownershipNow(ticket, access);
    if (ownership.kind !== 'held') return ownership;
    const { value, sharing, fence, remainingMs } = ownership;
    const { redlock, close } = await access.redlock();
    const isFenced = fence !== null;
    const claim = {
      ...alone,
      resources: [ticket.name],
      sharing,
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
    // Extended too late to know that it was in time, or answered too late: another look tells whether it is still there.
    const isLate = extension.kind === 'extended' || now >= lease.validUntil;
    if (!isLate) return { kind: 'lost' };
    if (tryCount === lookCount) return { kind: 'unknown' };
  }
}

/** Removes it wherever it stands, and tells a holder in the background. */
export async function giveBack(ticket: Ticket, access: Access): Promise<Answer> {
  const { name, token } = ticket;
  const ownership = await ownershipNow(ticket, access);
  if (ownership.kind !== 'held') return ownership;
  const survey = await access.survey();
  const replies = await survey.remove(name, ownership.value, ownership.sharing);
  const goneCount = replies.filter(({ kind }) => kind !== 'failed').length;
  const isConfirmed = goneCount > replies.length / 2;
  // A holder in the background need not find out by himself.
  if (isConfirmed) await survey.call(name, keeperIdOf(token));
  survey.close();
  return { kind: isConfirmed ? 'released' : 'unknown' };
}

/** Whether it is held now; if so, for how long it will be at the least, whatever the masters' clocks. */
export async function look(ticket: Ticket, access: Access): Promise<Answer> {
  const { clock } = access;
  for (let tryCount = 1; ; tryCount += 1) {
    const askedAt = clock.now();
    const ownership = await ownershipNow(ticket, access);
    if (ownership.kind !== 'held') return ownership;
    if (ownership.remainingMs === Number.POSITIVE_INFINITY)
      return { kind: 'held', validMs: ownership.remainingMs };
    const validMs = validUntilOf(askedAt, ownership.remainingMs) - clock.now();
    if (validMs > 0) return { kind: 'held', validMs };
    // It may have ended while the masters were answering.
    if (tryCount === lookCount) return { kind: 'unknown' };
  }
}

async function ownershipNow({ name, token }: Ticket, access: Access): Promise<Ownership> {
  const survey = await access.survey();
  const [reports = []] = await survey.reports([name]);
  survey.close();
  return ownershipOf(reports, token);
}
