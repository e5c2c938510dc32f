// The fencing number of a lease: larger for every later holder, so that a resource can refuse the writes of an earlier one.
// Each master counts by itself, and masters know nothing of one another. The surprise: the largest count of a quorum is not
// enough. Two holders may see the same one, unless the first has raised a quorum of the counters to it before he goes on.
// Why that suffices is argued in docs/fencing.md.

import type { AcquireReply } from './ports.ts';
import { quorumOf } from './validity.ts';

export interface Fence {
  /** The number of the lease; null without fencing. */
  readonly number: number | null;
  /** A quorum of the masters that granted holds exactly this number: nothing needs to be written back. */
  readonly isAgreed: boolean;
}

/** `votes` hold a quorum of grants. */
export function fenceOf(votes: Iterable<AcquireReply>, masterCount: number): Fence {
  const counts: number[] = [];
  for (const vote of votes) if (vote.kind === 'granted' && vote.fence !== null) counts.push(vote.fence);
  if (counts.length === 0) return { number: null, isAgreed: true };
  const number = Math.max(...counts);
  const agreedCount = counts.filter((count) => count === number).length;
  return { number, isAgreed: agreedCount >= quorumOf(masterCount) };
}
