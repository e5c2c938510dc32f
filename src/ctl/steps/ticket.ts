// What may be done with a name and a token: to extend the lock, to give it back, and to ask whether it is held. It knows no words, prints
// nothing and reaches the masters through what it is given, so the simulator runs it as it is. The surprise: each step begins with a look,
// because the token alone does not say what stands under the key, and only the whole value is compared.

import { alone, type Clock } from '../../lock/ports.ts';
import type { Redlock } from '../../lock/redlock.ts';
import { holderIdOf } from '../../lock/waiter-id.ts';
import type { Survey } from '../survey.ts';
import { type Standing, standingOf } from './held.ts';

export interface Ticket {
  readonly name: string;
  readonly token: string;
}

/** Ways to the masters, each by connections of its own. */
export interface Access {
  readonly clock: Clock;
  survey(): Promise<Survey>;
  redlock(): Promise<{ readonly redlock: Redlock; readonly close: () => void }>;
}

/** unknown: too few masters answered to tell. */
export type Answer =
  | { readonly kind: 'held'; readonly validMs: number }
  | { readonly kind: 'released' | 'lost' | 'unknown' };

/** For another ttl from now. */
export async function extendBy(ticket: Ticket, ttlMs: number, access: Access): Promise<Answer> {
  const { clock } = access;
  const askedAt = clock.now();
  const standing = await standingNow(ticket, access);
  if (standing.kind !== 'held') return standing;
  const { value, sharing, fence, remainingMs } = standing;
  const { redlock, close } = await access.redlock();
  const isFenced = fence !== null;
  const claim = { ...alone, resources: [ticket.name], sharing, value, ttlMs, isFenced, waiter: null };
  const lease = { claim, startedAt: askedAt, validUntil: askedAt + remainingMs, fence };
  const extension = await redlock.extend(lease);
  close();
  if (extension.kind === 'unreachable') return { kind: 'unknown' };
  if (extension.kind === 'lost') return { kind: 'lost' };
  return { kind: 'held', validMs: extension.lease.validUntil - clock.now() };
}

/** Removes it wherever it stands, and tells a holder in the background. */
export async function giveBack(ticket: Ticket, access: Access): Promise<Answer> {
  const { name, token } = ticket;
  const standing = await standingNow(ticket, access);
  if (standing.kind !== 'held') return standing;
  const survey = await access.survey();
  const replies = await survey.remove(name, standing.value, standing.sharing);
  const goneCount = replies.filter(({ kind }) => kind !== 'failed').length;
  const isConfirmed = goneCount > replies.length / 2;
  // A holder in the background need not find out by himself.
  if (isConfirmed) await survey.call(name, holderIdOf(token));
  survey.close();
  return { kind: isConfirmed ? 'released' : 'unknown' };
}

export async function look(ticket: Ticket, access: Access): Promise<Answer> {
  const standing = await standingNow(ticket, access);
  return standing.kind === 'held' ? { kind: 'held', validMs: standing.remainingMs } : standing;
}

async function standingNow({ name, token }: Ticket, access: Access): Promise<Standing> {
  const survey = await access.survey();
  const [testimonies = []] = await survey.testimonies([name]);
  survey.close();
  return standingOf(testimonies, token);
}
