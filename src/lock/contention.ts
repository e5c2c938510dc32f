// What a refused attempt has learned: who stands in the way, for how long, whether anybody holds the lock at all, and our
// place in the queue. Pure. The surprise: a refusal does not mean that the lock is held; contenders that arrive together may
// split the masters among them, so that nobody has a quorum.

import type { AcquireReply, Refused } from './ports.ts';
import { quorumOf } from './validity.ts';

export interface Contention {
  /** The foreign value seen on most masters; '' where none was seen, and the lock is free for those who came before us. */
  readonly holder: string;
  /** How many different foreign values were seen. */
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

/** `votes` hold at least one refusal. */
export function contentionOf(votes: readonly AcquireReply[], masterCount: number): Contention {
  const quorum = quorumOf(masterCount);
  const refusals = votes.filter((vote): vote is Refused => vote.kind === 'refused');
  const grantedCount = votes.filter((vote) => vote.kind === 'granted').length;
  const holders = refusals.flatMap(({ holder }) => (holder === '' ? [] : [holder]));
  const holder = mostCommon(holders, 1) ?? '';
  const holderVotes = refusals.filter((one) => one.holder === holder && holder !== '' && !one.freeSlots).length;
  const reservedCount = refusals.filter((refusal) => refusal.holder === '').length;
  const expiries = ascending(refusals.map(({ remainingMs }) => remainingMs ?? Number.POSITIVE_INFINITY));
  const freeInMs = expiries[quorum - grantedCount - 1] ?? Number.POSITIVE_INFINITY;
  const places = refusals.flatMap(({ place }) => (place === null ? [] : [place]));
  // Those who have not voted may grant it as well.
  const unheardCount = masterCount - votes.length;
  const freeSlot = mostCommon(
    refusals.flatMap(({ freeSlots = [] }) => freeSlots),
    Math.max(1, quorum - grantedCount - unheardCount),
  );
  const newer = refusals.flatMap(({ supersededBy }) => supersededBy ?? []);
  return {
    holder,
    holderCount: new Set(holders).size,
    freeInMs: Number.isFinite(freeInMs) ? freeInMs : null,
    isHeld: holderVotes + reservedCount >= quorum,
    place: places.length === 0 ? null : median(places),
    arrivalUs: median(refusals.map(({ masterTimeUs }) => masterTimeUs)),
    freeSlot,
    supersededBy: newer.length >= quorum ? mostCommon(newer, 1) : null,
  };
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
