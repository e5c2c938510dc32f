// What a refused attempt has learned: who stands in the way, for how long, and whether anybody holds the lock at all.
// Pure. The surprise: a refusal does not mean that the lock is held; contenders that arrive together may split the
// masters among them, so that nobody has a quorum.

import type { AcquireReply, Refused } from './ports.ts';
import { quorumOf } from './validity.ts';

export interface Contention {
  /** The foreign value seen on most masters. */
  readonly holder: string;
  /** When enough keys will have expired for a quorum to be free, if nobody extends; null: never by themselves. */
  readonly freeInMs: number | null;
  /** One foreign value was seen on a quorum, so it is a holder's and no contender's leftover. */
  readonly isHeld: boolean;
}

/** `votes` hold at least one refusal. */
export function contentionOf(votes: readonly AcquireReply[], masterCount: number): Contention {
  const quorum = quorumOf(masterCount);
  const refusals = votes.filter((vote): vote is Refused => vote.kind === 'refused');
  const grantedCount = votes.filter((vote) => vote.kind === 'granted').length;
  const counts = new Map<string, number>();
  for (const { holder } of refusals) counts.set(holder, (counts.get(holder) ?? 0) + 1);
  const [holder = '', holderCount = 0] = [...counts].sort(([, a], [, b]) => b - a)[0] ?? [];
  const expiries = refusals.map(({ remainingMs }) => remainingMs ?? Number.POSITIVE_INFINITY).sort((a, b) => a - b);
  const freeInMs = expiries[quorum - grantedCount - 1] ?? Number.POSITIVE_INFINITY;
  return { holder, freeInMs: Number.isFinite(freeInMs) ? freeInMs : null, isHeld: holderCount >= quorum };
}
