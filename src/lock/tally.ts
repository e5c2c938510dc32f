// Votes in, verdict out, as early as it is certain. Pure. The surprise: "not granted" can be certain long before it is
// known *why*, and why matters (busy is worth waiting for, unreachable is not), so two thresholds have to be passed.

import type { LossReason } from './outcomes.ts';
import type { AcquireReply, ExtendReply, Failed, ReleaseReply } from './ports.ts';
import { quorumOf } from './validity.ts';

export type AcquireVerdict = 'granted' | 'busy' | 'unreachable' | 'unfit' | 'undecided';
export type ExtendVerdict = 'extended' | 'lost' | 'unreachable' | 'undecided';

/**
 * - granted: a quorum granted.
 * - busy: a quorum answered and so many refused that no quorum can grant any more (on an even split too).
 * - unreachable: so many failed that no quorum can answer any more; nobody can tell who holds the lock.
 * - unfit: a server that must not be in the list; no count of grants makes that right.
 */
export function acquireVerdictOf(votes: Iterable<AcquireReply>, masterCount: number): AcquireVerdict {
  const quorum = quorumOf(masterCount);
  const { granted, refused, failed, unfit } = count(votes);
  if (unfit > 0) return 'unfit';
  if (granted >= quorum) return 'granted';
  if (failed > masterCount - quorum) return 'unreachable';
  const grantImpossible = refused + failed > masterCount - quorum;
  return grantImpossible && granted + refused >= quorum ? 'busy' : 'undecided';
}

/** lost: so many masters no longer show our value that no quorum can. A failed master says nothing either way. */
export function extendVerdictOf(votes: Iterable<ExtendReply>, masterCount: number): ExtendVerdict {
  const quorum = quorumOf(masterCount);
  const { extended, taken, gone, failed } = count(votes);
  if (extended >= quorum) return 'extended';
  if (taken + gone > masterCount - quorum) return 'lost';
  return extended + taken + gone + failed === masterCount ? 'unreachable' : 'undecided';
}

/** That so few masters showed our value when it was released that no quorum did, as by extendVerdictOf; null: not so. */
export function missingIn(votes: Iterable<ReleaseReply>, masterCount: number): LossReason | null {
  const { taken, gone } = count(votes);
  if (taken + gone <= masterCount - quorumOf(masterCount)) return null;
  return taken > 0 ? 'taken' : 'expired';
}

/** One master is not enough: whoever reaches no more than that cannot get the lock. */
export function wantedByIn(votes: Iterable<ExtendReply>, masterCount: number): string | null {
  const wishes = [...votes].flatMap((vote) => (vote.kind === 'extended' && vote.wantedBy ? [vote.wantedBy] : []));
  const countOfWish = (wish: string) => wishes.filter((one) => one === wish).length;
  return wishes.find((wish) => countOfWish(wish) >= quorumOf(masterCount)) ?? null;
}

type AnyReply = AcquireReply | ExtendReply | ReleaseReply;
type Kind = AnyReply['kind'] | 'unfit';

function count(votes: Iterable<AnyReply>): Record<Kind, number> {
  const counts = { granted: 0, refused: 0, extended: 0, taken: 0, gone: 0, released: 0, failed: 0, unfit: 0 };
  for (const vote of votes) {
    counts[vote.kind] += 1;
    if (isUnfit(vote)) counts.unfit += 1;
  }
  return counts;
}

function isUnfit(vote: AnyReply): vote is Failed {
  return vote.kind === 'failed' && vote.cause === 'unfit';
}
