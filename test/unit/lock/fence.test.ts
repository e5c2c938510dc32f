// The fencing number from the counts of the masters that granted, for all counts of up to five
// masters; and what is believed.

import { describe, expect, it } from 'vitest';
import { fenceOf, maxFenceAt, quorumOf } from '../../../src/lock/quorum.ts';
import type { AcquireReply } from '../../../src/lock/types.ts';

const granted = (fence: number | null): AcquireReply => ({ kind: 'granted', fence });
const failed: AcquireReply = { kind: 'failed', cause: 'timeout', message: 'mute' };

function allCounts(length: number): (number | undefined)[][] {
  if (length === 0) return [[]];
  return allCounts(length - 1).flatMap((counts) =>
    [7, 8, 9, undefined].map((count) => [...counts, count]),
  );
}

describe.each([1, 2, 3, 4, 5])('%i masters', (masterCount) => {
  it('the largest count; agreed where a quorum holds exactly that', () => {
    for (const counts of allCounts(masterCount)) {
      const known = counts.filter((count) => count !== undefined);
      if (known.length < quorumOf(masterCount)) continue;
      const votes = counts.map((count) => (count === undefined ? failed : granted(count)));
      const number = known.toSorted((a, b) => b - a)[0];
      const isAgreed = known.filter((count) => count === number).length >= quorumOf(masterCount);
      expect(fenceOf(votes, masterCount), counts.join()).toEqual({ number, isAgreed });
    }
  });
});

it('none without fencing', () => {
  expect(fenceOf([granted(null), granted(null)], 3)).toEqual({ number: null, isAgreed: true });
});

it.each([9e18, 2 ** 53, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
  '%d is no safe integer: a bug if it comes this far',
  (count) => {
    expect(() => fenceOf([granted(count), granted(5)], 3)).toThrow(
      'a count that is no safe integer was accepted',
    );
  },
);

it.each([
  ['the epoch', 0, 86_400_000_000],
  ['2026', 1_790_000_000_000, 1_790_086_400_000_000],
  ['the year 3000: no further than a double counts', 32_503_680_000_000, 2 ** 53 - 2],
])('is believed up to a day ahead of our clock: %s', (_, wallMs, most) => {
  expect(maxFenceAt(wallMs)).toBe(most);
});
