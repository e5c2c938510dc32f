// All votes of up to five masters, whole and in part, and what they come to. A verdict is what the
// votes say when all are in; before that it falls as soon as no vote that is still missing can
// change it.

import { describe, expect, it } from 'vitest';
import {
  acquireVerdictOf,
  extendVerdictOf,
  missingIn,
  quorumOf,
  replacedByIn,
} from '../../../src/lock/quorum.ts';
import type { AcquireReply, ExtendReply, Failed, ReleaseReply } from '../../../src/lock/types.ts';

const failed: Failed = { kind: 'failed', cause: 'timeout', message: 'mute' };
const misconfigured: Failed = { kind: 'failed', cause: 'misconfigured', message: 'a replica' };
const granted: AcquireReply = { kind: 'granted', fence: 1 };
const refused: AcquireReply = {
  kind: 'refused',
  holder: 'them',
  remainingMs: 1,
  position: null,
  masterTimeUs: 1,
};
const extended: ExtendReply = { kind: 'extended', masterTimeMs: 1 };
const taken = { kind: 'taken' } as const;
const missing = { kind: 'missing' } as const;
const released: ReleaseReply = { kind: 'released' };

const counts = [1, 2, 3, 4, 5];

/** Every way in which so many masters may vote. */
function allVotes<Vote>(kinds: readonly Vote[], masterCount: number): Vote[][] {
  if (masterCount === 0) return [[]];
  return allVotes(kinds, masterCount - 1).flatMap((votes) => kinds.map((vote) => [...votes, vote]));
}

const kindsOf = (votes: readonly { readonly kind: string }[]) =>
  votes.map(({ kind }) => kind).join(' ');
const countOf = (votes: readonly { readonly kind: string }[], kind: string) =>
  votes.filter((vote) => vote.kind === kind).length;

describe.each(counts)('acquire, %i masters', (masterCount) => {
  const kinds = [granted, refused, failed];
  const quorum = quorumOf(masterCount);
  const whole = (votes: readonly AcquireReply[]) => {
    if (countOf(votes, 'granted') >= quorum) return 'granted';
    return masterCount - countOf(votes, 'failed') >= quorum ? 'busy' : 'unreachable';
  };

  it('all votes are in', () => {
    for (const votes of allVotes(kinds, masterCount)) {
      expect(acquireVerdictOf(votes, masterCount), kindsOf(votes)).toBe(whole(votes));
    }
  });

  it('some are missing: undecided for as long as they may change it, and no longer', () => {
    for (let votedCount = 0; votedCount < masterCount; votedCount += 1) {
      for (const votes of allVotes(kinds, votedCount)) {
        const ends = new Set(
          allVotes(kinds, masterCount - votedCount).map((rest) => whole([...votes, ...rest])),
        );
        const certain = ends.size === 1 ? [...ends][0] : 'undecided';
        expect(acquireVerdictOf(votes, masterCount), kindsOf(votes)).toBe(certain);
      }
    }
  });

  it('one that must not be in the list: whatever the others say', () => {
    for (const votes of allVotes(kinds, masterCount - 1)) {
      expect(acquireVerdictOf([...votes, misconfigured], masterCount), kindsOf(votes)).toBe(
        'misconfigured',
      );
    }
  });
});

describe.each(counts)('extend, %i masters', (masterCount) => {
  const kinds = [extended, taken, missing, failed];
  const quorum = quorumOf(masterCount);
  const whole = (votes: readonly ExtendReply[]) => {
    if (countOf(votes, 'extended') >= quorum) return 'extended';
    return countOf(votes, 'taken') + countOf(votes, 'missing') > masterCount - quorum
      ? 'lost'
      : 'unreachable';
  };

  it('all votes are in', () => {
    for (const votes of allVotes(kinds, masterCount)) {
      expect(extendVerdictOf(votes, masterCount), kindsOf(votes)).toBe(whole(votes));
    }
  });

  it('some are missing: waits for the last failure; any other verdict is told when certain', () => {
    for (let votedCount = 0; votedCount < masterCount; votedCount += 1) {
      for (const votes of allVotes(kinds, votedCount)) {
        const ends = new Set(
          allVotes(kinds, masterCount - votedCount).map((rest) => whole([...votes, ...rest])),
        );
        const isCertain = ends.size === 1 && !ends.has('unreachable');
        expect(extendVerdictOf(votes, masterCount), kindsOf(votes)).toBe(
          isCertain ? [...ends][0] : 'undecided',
        );
      }
    }
  });
});

describe.each(counts)('release, %i masters', (masterCount) => {
  it('a loss is seen where no quorum showed our value', () => {
    for (const votes of allVotes<ReleaseReply>([released, taken, missing, failed], masterCount)) {
      const others = countOf(votes, 'taken') + countOf(votes, 'missing');
      const loss = countOf(votes, 'taken') > 0 ? 'taken' : 'expired';
      const isLoss = others > masterCount - quorumOf(masterCount);
      expect(missingIn(votes, masterCount), kindsOf(votes)).toBe(isLoss ? loss : null);
    }
  });
});

describe.each(counts)('wanted, %i masters', (masterCount) => {
  it('by the one that a quorum names', () => {
    const wishes = ['a', 'b', ''].map(
      (replacedBy): ExtendReply => ({ ...extended, masterTimeMs: 1, replacedBy }) as ExtendReply,
    );
    for (const votes of allVotes([...wishes, failed], masterCount)) {
      const named = ['a', 'b'].find(
        (id) =>
          votes.filter((vote) => vote.kind === 'extended' && vote.replacedBy === id).length >=
          quorumOf(masterCount),
      );
      expect(replacedByIn(votes, masterCount)).toBe(named ?? null);
    }
  });
});
