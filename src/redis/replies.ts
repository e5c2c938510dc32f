// Reads the replies of the scripts as votes. A reply of a shape that no script returns is a failed
// vote, with a reason.

import { mostFenceAt } from '../lock/quorum.ts';
import type {
  AcquireReply,
  ExtendReply,
  Failed,
  ReleaseReply,
  RepairReply,
} from '../lock/types.ts';
import { failed, isFailed } from './errors.ts';
import {
  as,
  byFirst,
  integer,
  listOf,
  oneOf,
  readReply,
  type Shape,
  text,
  tuple,
} from './reply-shapes.ts';

/** The scripts return so many bytes of a holder's value at most; a waiter's id is far shorter. */
export const mostValueBytes = 1_024;
const mostSlots = 100_000;

const seconds = integer(0, 1e11);
const microseconds = integer(0, 999_999);

const refusal = tuple(
  oneOf(0),
  text(mostValueBytes),
  integer(-1),
  integer(-1),
  seconds,
  microseconds,
  text(mostValueBytes),
  listOf(integer(1, mostSlots), mostSlots),
);

const acquisition: Shape<AcquireReply> = byFirst<AcquireReply>({
  1: as(tuple(oneOf(1), integer(0)), ([, fence]) => ({ kind: 'granted', fence })),
  0: as(refusal, ([, holder, remainingMs, position, secs, micros, supersededBy, freeSlots]) => ({
    kind: 'refused',
    holder,
    remainingMs: remainingMs >= 0 ? remainingMs : null,
    position: position < 0 ? null : position,
    masterTimeUs: secs * 1_000_000 + micros,
    ...(supersededBy ? { supersededBy } : {}),
    ...(freeSlots.length > 0 ? { freeSlots } : {}),
  })),
});

const extension: Shape<ExtendReply> = byFirst<ExtendReply>({
  1: as(
    tuple(oneOf(1), seconds, microseconds, text(mostValueBytes)),
    ([, secs, micros, wantedBy]) => ({
      kind: 'extended',
      masterTimeMs: secs * 1000 + micros / 1000,
      ...(wantedBy ? { wantedBy } : {}),
    }),
  ),
  0: as(tuple(oneOf(0)), () => ({ kind: 'taken' })),
  [-1]: as(tuple(oneOf(-1)), () => ({ kind: 'missing' })),
});

const repair: Shape<RepairReply> = as(oneOf(1, 0), (code) => ({
  kind: code === 1 ? 'repaired' : 'taken',
}));

const removals = { 1: 'released', 0: 'taken', [-1]: 'missing' } as const;
const removal: Shape<ReleaseReply> = as(oneOf(1, 0, -1), (code) => ({ kind: removals[code] }));

/**
 * `fencedAtMs`: our time of day, for a claim with a fence: a number far beyond it is accepted from
 * no master. null: no fence.
 */
export function acquisitionOf(reply: unknown, fencedAtMs: number | null): AcquireReply {
  const vote = readReply(acquisition, reply);
  if (vote.kind !== 'granted') return vote;
  if (fencedAtMs === null) return { ...vote, fence: null };
  return (vote.fence ?? 0) > mostFenceAt(fencedAtMs) ? beyond : vote;
}

const beyond: Failed = failed(
  'reply',
  'its fencing counter is more than a day ahead of our clock ' +
    '(set the clocks, or delete the counter)',
);

export function extensionOf(reply: unknown): ExtendReply {
  return readReply(extension, reply);
}

/** The older protocol answers as to an extension: a missing key is not repaired there. */
export function repairOf(reply: unknown): RepairReply {
  if (!Array.isArray(reply)) return readReply(repair, reply);
  const vote = extensionOf(reply);
  if (vote.kind === 'failed') return vote;
  return { kind: vote.kind === 'extended' ? 'repaired' : 'taken' };
}

export function removalOf(reply: unknown): ReleaseReply {
  return readReply(removal, reply);
}

/** The first release may have taken effect without an answer, so the value may have been there. */
export function repeatedRemovalOf(reply: unknown): ReleaseReply {
  const removal = removalOf(reply);
  return isFailed(removal) ? removal : { kind: 'released' };
}
