// The arithmetic of the distlock page: quorum, drift, validity; from votes to a verdict, as early
// as it is certain; what refusals say about the holder; and the fencing number. Pure functions.
// Rounding promises less, never more.
// https://redis.io/docs/latest/develop/use/patterns/distributed-locks/

import assert from 'node:assert';
import type {
  AcquireReply,
  Claim,
  Contention,
  ExtendReply,
  LossReason,
  Refused,
  ReleaseReply,
  Reply,
  Sharing,
} from './types.ts';

/** Smallest majority of the *configured* masters, whether they answer or not. */
export function quorumOf(masterCount: number): number {
  return Math.floor(masterCount / 2) + 1;
}

/**
 * The fraction by which the rates of two clocks may differ. One percent is a hundred times what an
 * undisturbed quartz clock needs, and twenty times the fastest NTP slew.
 */
export const defaultDriftFactor = 0.01;

/** Allowance in ms for clocks at different rates, and for rounding in Redis (1 ms) and here. */
export function driftMsOf(ttlMs: number, driftFactor: number): number {
  return Math.ceil(ttlMs * driftFactor) + 2;
}

/**
 * The instant until which a lease is exclusive. `startedAt` must have been read before the first
 * byte was sent.
 */
export function validUntilOf(startedAt: number, ttlMs: number, driftFactor: number): number {
  return startedAt + ttlMs - driftMsOf(ttlMs, driftFactor);
}

export type AcquireVerdict = 'granted' | 'busy' | 'unreachable' | 'misconfigured' | 'undecided';
export type ExtendVerdict = 'extended' | 'lost' | 'unreachable' | 'undecided';

/**
 * - granted: a quorum granted.
 * - busy: a quorum answered, and no quorum can grant any more (also on an even split).
 * - unreachable: no quorum can answer any more; which client holds the lock is unknown.
 * - misconfigured: a server must not be in the list, whatever the others say.
 */
export function acquireVerdictOf(
  votes: Iterable<AcquireReply>,
  masterCount: number,
): AcquireVerdict {
  const quorum = quorumOf(masterCount);
  const { granted, refused, failed, misconfigured } = count(votes);
  if (misconfigured > 0) return 'misconfigured';
  if (granted >= quorum) return 'granted';
  if (failed > masterCount - quorum) return 'unreachable';
  const grantImpossible = refused + failed > masterCount - quorum;
  return grantImpossible && granted + refused >= quorum ? 'busy' : 'undecided';
}

/** lost: no quorum can still show our value. A failed master says nothing either way. */
export function extendVerdictOf(votes: Iterable<ExtendReply>, masterCount: number): ExtendVerdict {
  const quorum = quorumOf(masterCount);
  const { extended, taken, missing, failed } = count(votes);
  if (extended >= quorum) return 'extended';
  if (taken + missing > masterCount - quorum) return 'lost';
  return extended + taken + missing + failed === masterCount ? 'unreachable' : 'undecided';
}

/** Why the lock was lost before its release: no quorum can have had our value. null: it was not. */
export function missingIn(votes: Iterable<ReleaseReply>, masterCount: number): LossReason | null {
  const { taken, missing } = count(votes);
  if (taken + missing <= masterCount - quorumOf(masterCount)) return null;
  return taken > 0 ? 'taken' : 'expired';
}

/** The waiter that a quorum names; null: none. One that reaches fewer cannot acquire the lock. */
export function replacedByIn(votes: Iterable<ExtendReply>, masterCount: number): string | null {
  const wishes = [...votes].flatMap((vote) =>
    vote.kind === 'extended' && vote.replacedBy ? [vote.replacedBy] : [],
  );
  const countOfWish = (wish: string) => wishes.filter((one) => one === wish).length;
  return wishes.find((wish) => countOfWish(wish) >= quorumOf(masterCount)) ?? null;
}

/** A failure that is a wrong list of masters counts as both. */
function count(votes: Iterable<Reply>) {
  const acquired = { granted: 0, refused: 0, failed: 0, misconfigured: 0 };
  const counts = { ...acquired, extended: 0, taken: 0, missing: 0, released: 0 };
  for (const vote of votes) {
    counts[vote.kind] += 1;
    if (vote.kind === 'failed' && vote.cause === 'misconfigured') counts.misconfigured += 1;
  }
  return counts;
}

/** Masters whose times of day are further apart than this contradict one another. */
const togetherUs = 1_000_000;

/** What the refusals of this claim say about the lock. `votes` hold at least one. */
export function contentionOf(
  votes: readonly AcquireReply[],
  masterCount: number,
  { resources, sharing }: Pick<Claim, 'resources' | 'sharing'>,
): Contention {
  const quorum = quorumOf(masterCount);
  const refusals = votes.filter((vote): vote is Refused => vote.kind === 'refused');
  const grantedCount = votes.filter((vote) => vote.kind === 'granted').length;
  const holders = refusals.flatMap(({ holder }) => (holder === '' ? [] : [holder]));
  const holder = mostCommon(holders, 1);
  const holderVotes = refusals.filter((one) => one.holder === holder && !one.freeSlots).length;
  const reservedCount = refusals.length - holders.length;
  const isNamed = holder !== null && countIn(holders, holder) >= reservedCount;
  const isOne = holder !== null && countIn(holders, holder) >= quorum;
  const expiries = ascending(
    refusals.map(({ remainingMs }) => remainingMs ?? Number.POSITIVE_INFINITY),
  );
  const freeInMs = expiries[quorum - grantedCount - 1] ?? Number.POSITIVE_INFINITY;
  const positions = refusals.flatMap(({ position }) => (position === null ? [] : [position]));
  // A master that has not voted may grant the slot as well.
  const missingVotes = masterCount - votes.length;
  const freeSlot = mostCommon(
    refusals.flatMap(({ freeSlots = [] }) => othersAmong(freeSlots, sharing)),
    Math.max(1, quorum - grantedCount - missingVotes),
  );
  const newer = refusals.flatMap(({ supersededBy }) => supersededBy ?? []);
  const shown = isNamed ? holder : '';
  const showing = refusals.filter((one) => one.holder === shown);
  const blockedIndexes = showing.flatMap(({ blockedIndex }) => blockedIndex ?? []);
  const blockedName = resources[mostCommon(blockedIndexes, 1) ?? Number.NaN];
  return {
    holder: shown,
    holderCount: isOne ? 1 : new Set(holders).size,
    freeInMs: Number.isFinite(freeInMs) ? freeInMs : null,
    isHeld: holderVotes + reservedCount >= quorum,
    position: positions.length === 0 ? null : median(positions),
    ...(blockedName === undefined ? {} : { blockedName }),
    arrivalUs: median(refusals.map(({ masterTimeUs }) => masterTimeUs)),
    freeSlot,
    supersededBy: newer.length >= quorum ? mostCommon(newer, 1) : null,
  };
}

/**
 * Whether a round that is refused goes on for the answers of the other masters: that of a waiter,
 * which asks again only in a while, and would have to roll back what is not answered; and one in
 * which only a minority agrees on the holder or on the time of day. Not where a master has granted:
 * then contenders have split the vote, and the round should end soon.
 */
export function awaitsOthers(
  votes: readonly AcquireReply[],
  masterCount: number,
  isInQueue: boolean,
): boolean {
  const minority = masterCount - quorumOf(masterCount);
  if (votes.some(({ kind }) => kind === 'granted')) return false;
  if (isInQueue) return true;
  const refusals = votes.filter((vote): vote is Refused => vote.kind === 'refused');
  const holders = refusals.map(({ holder }) => holder);
  if (mostCommon(holders, minority + 1) === null) return true;
  const times = refusals.map(({ masterTimeUs }) => masterTimeUs);
  const arrivalUs = median(times);
  const agreed = times.filter((timeUs) => Math.abs(timeUs - arrivalUs) <= togetherUs);
  return agreed.length <= minority;
}

/** The valid slots among them, each once, without our own. */
function othersAmong(freeSlots: readonly number[], sharing: Sharing): number[] {
  if (sharing.kind !== 'slots') return [];
  const { slot, slotCount } = sharing;
  return [...new Set(freeSlots)].filter((one) => one >= 1 && one <= slotCount && one !== slot);
}

function countIn<Item>(items: readonly Item[], item: Item): number {
  return items.filter((one) => one === item).length;
}

/** The most frequent item; null where none occurs `minCount` times. */
function mostCommon<Item>(items: readonly Item[], minCount: number): Item | null {
  const counts = new Map<Item, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  const [item, count] = [...counts].sort(([, a], [, b]) => b - a)[0] ?? [null, 0];
  return count >= minCount ? item : null;
}

function ascending(numbers: readonly number[]): number[] {
  return [...numbers].sort((a, b) => a - b);
}

/** Of an even number the lower of the two; 0 for none. */
export function median(numbers: readonly number[]): number {
  return ascending(numbers)[Math.floor((numbers.length - 1) / 2)] ?? 0;
}

const dayMs = 24 * 60 * 60 * 1000;

/**
 * The largest count that is accepted from a master, at this time of day. A counter starts at the
 * master's time in microseconds, so counting never takes it beyond our time and a day for clocks
 * that differ. A larger one was written by another program, and would spread to every master.
 */
export function maxFenceAt(wallMs: number): number {
  return Math.min((wallMs + dayMs) * 1000, Number.MAX_SAFE_INTEGER - 1);
}

/**
 * The fencing number of a lease; null without fencing. `isAgreed`: a quorum of masters holds
 * exactly this number, and nothing needs to be written back. `votes` hold a quorum of grants, each
 * with a count that is accepted or with none.
 */
export function fenceOf(votes: Iterable<AcquireReply>, masterCount: number) {
  const counts = [...votes].flatMap((vote) => (vote.kind === 'granted' ? (vote.fence ?? []) : []));
  if (counts.length === 0) return { number: null, isAgreed: true };
  const number = Math.max(...counts);
  assert(counts.every(Number.isSafeInteger), 'a count that is no safe integer was accepted');
  const agreedCount = counts.filter((count) => count === number).length;
  return { number, isAgreed: agreedCount >= quorumOf(masterCount) };
}
