// The fencing number of a lease: larger for every later holder, so that a resource can refuse the
// writes of an earlier one. Each master counts by itself, and masters know nothing of one another.
// The largest count of a quorum is not enough: two holders may see the same one, unless the first
// has raised a quorum of the counters to it before it goes on. Why that suffices is argued in
// docs/fencing.md.

import assert from 'node:assert';
import type { AcquireReply } from './ports.ts';
import { quorumOf } from './validity.ts';

export interface Fence {
  /** The number of the lease; null without fencing. */
  readonly number: number | null;
  /** A quorum of the masters that granted holds exactly this number: nothing needs to be written back. */
  readonly isAgreed: boolean;
}

const dayMs = 24 * 60 * 60 * 1000;

/**
 * The largest count that is believed of a master, at this time of day. A counter starts at a
 * master's time in microseconds, and no counting takes it from there beyond ours, and a day for
 * clocks that differ. A larger one was written by something else, and would be handed on to every
 * master for ever.
 */
export function mostFenceAt(wallMs: number): number {
  return Math.min((wallMs + dayMs) * 1000, Number.MAX_SAFE_INTEGER - 1);
}

/** `votes` hold a quorum of grants, each with a count that is believed or with none. */
export function fenceOf(votes: Iterable<AcquireReply>, masterCount: number): Fence {
  const counts: number[] = [];
  for (const vote of votes) if (vote.kind === 'granted' && vote.fence !== null) counts.push(vote.fence);
  if (counts.length === 0) return { number: null, isAgreed: true };
  const number = Math.max(...counts);
  assert(counts.every(Number.isSafeInteger), 'a count that is no count was believed');
  const agreedCount = counts.filter((count) => count === number).length;
  return { number, isAgreed: agreedCount >= quorumOf(masterCount) };
}
