// What a refused attempt has learned: what stands in the way, for how long, whether anything holds the
// lock at all, and our place in the queue. Pure. A refusal does not mean that the lock is held:
// contenders that arrive together may split the masters among them, so that none has a quorum.
// Of what masters say, only what more than a minority of them says is beyond doubt.

import type { AcquireReply, Refused, Sharing } from './ports.ts';
import { quorumOf } from './validity.ts';

export interface Contention {
  /** What most of those that refused show; '' where it is no value, and the lock is free for those before us. */
  readonly holder: string;
  /** How many different foreign values were seen; 1 where a quorum shows the same. */
  readonly holderCount: number;
  /** When enough keys will have expired for a quorum to be free, if nobody extends; null: never by themselves. */
  readonly freeInMs: number | null;
  /** One foreign value, or a queue where there was none, was seen on a quorum: no split vote, and no use in trying again. */
  readonly isHeld: boolean;
  /** How many are before us, as most masters see it; null: we are not in the queue. */
  readonly place: number | null;
  /** The median of the masters' clocks when they refused us. */
  readonly arrivalUs: number;
  /** A slot that may be had instead of the one that was asked for; null: none. */
  readonly freeSlot: number | null;
  /** A newer waiter, where both yield, and a quorum of masters tells us of one, if not of the same; null: there is none. */
  readonly supersededBy: string | null;
}

/** Masters whose times of day are further apart than this contradict one another. */
const togetherUs = 1_000_000;

/** `votes` hold at least one refusal, of a claim that shares as `sharing` says. */
export function contentionOf(votes: readonly AcquireReply[], masterCount: number, sharing: Sharing): Contention {
  const quorum = quorumOf(masterCount);
  const refusals = votes.filter((vote): vote is Refused => vote.kind === 'refused');
  const grantedCount = votes.filter((vote) => vote.kind === 'granted').length;
  const holders = refusals.flatMap(({ holder }) => (holder === '' ? [] : [holder]));
  const foreign = mostCommon(holders, 1);
  const holderVotes = refusals.filter((one) => one.holder === foreign && !one.freeSlots).length;
  const reservedCount = refusals.length - holders.length;
  const isNamed = foreign !== null && countIn(holders, foreign) >= reservedCount;
  const isOne = foreign !== null && countIn(holders, foreign) >= quorum;
  const expiries = ascending(refusals.map(({ remainingMs }) => remainingMs ?? Number.POSITIVE_INFINITY));
  const freeInMs = expiries[quorum - grantedCount - 1] ?? Number.POSITIVE_INFINITY;
  const places = refusals.flatMap(({ place }) => (place === null ? [] : [place]));
  // Those who have not voted may grant it as well.
  const unheardCount = masterCount - votes.length;
  const freeSlot = mostCommon(
    refusals.flatMap(({ freeSlots = [] }) => othersAmong(freeSlots, sharing)),
    Math.max(1, quorum - grantedCount - unheardCount),
  );
  const newer = refusals.flatMap(({ supersededBy }) => supersededBy ?? []);
  return {
    holder: isNamed ? foreign : '',
    holderCount: isOne ? 1 : new Set(holders).size,
    freeInMs: Number.isFinite(freeInMs) ? freeInMs : null,
    isHeld: holderVotes + reservedCount >= quorum,
    place: places.length === 0 ? null : median(places),
    arrivalUs: median(refusals.map(({ masterTimeUs }) => masterTimeUs)),
    freeSlot,
    supersededBy: newer.length >= quorum ? mostCommon(newer, 1) : null,
  };
}

/**
 * Whether no more than a minority agrees on what stands in the way or, for a claim that has no place
 * in the queue yet, on the time of day: then the answers of the others are worth waiting for. Not
 * where a master has granted: then contenders have split the vote, which had better end soon.
 */
export function isDisputed(votes: readonly AcquireReply[], masterCount: number, hasPlace: boolean): boolean {
  const minority = masterCount - quorumOf(masterCount);
  if (votes.some(({ kind }) => kind === 'granted')) return false;
  const refusals = votes.filter((vote): vote is Refused => vote.kind === 'refused');
  const holders = refusals.map(({ holder }) => holder);
  if (mostCommon(holders, minority + 1) === null) return true;
  const times = refusals.map(({ masterTimeUs }) => masterTimeUs);
  const arrivalUs = median(times);
  const agreed = times.filter((timeUs) => Math.abs(timeUs - arrivalUs) <= togetherUs);
  return !hasPlace && agreed.length <= minority;
}

/** Slots that there are, each once, and not the one that was asked for and refused. */
function othersAmong(freeSlots: readonly number[], sharing: Sharing): number[] {
  if (sharing.kind !== 'slots') return [];
  const { slot, slotCount } = sharing;
  return [...new Set(freeSlots)].filter((one) => one >= 1 && one <= slotCount && one !== slot);
}

function countIn<Item>(items: readonly Item[], item: Item): number {
  return items.filter((one) => one === item).length;
}

/** null where none comes so often. */
function mostCommon<Item>(items: readonly Item[], leastCount: number): Item | null {
  const counts = new Map<Item, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  const [item, count] = [...counts].sort(([, a], [, b]) => b - a)[0] ?? [null, 0];
  return count >= leastCount ? item : null;
}

function ascending(numbers: readonly number[]): number[] {
  return [...numbers].sort((a, b) => a - b);
}

function median(numbers: readonly number[]): number {
  return ascending(numbers)[Math.floor((numbers.length - 1) / 2)] ?? 0;
}
