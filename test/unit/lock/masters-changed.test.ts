// Two lists of masters in use at once: when a quorum of one always shares a master with a quorum of
// the other, as docs/masters.md promises for lists that differ by one.

import { expect, test } from 'vitest';
import { quorumOf } from '../../../src/lock/quorum.ts';

function subsetsOf(masters: readonly string[], size: number): string[][] {
  const [first, ...rest] = masters;
  if (size === 0) return [[]];
  if (first === undefined) return [];
  return [...subsetsOf(rest, size - 1).map((set) => [first, ...set]), ...subsetsOf(rest, size)];
}

/** Whether two hosts with these lists could both have a quorum without a common master. */
function canBothHold(one: readonly string[], other: readonly string[]): boolean {
  const quorums = subsetsOf(one, quorumOf(one.length));
  const others = subsetsOf(other, quorumOf(other.length));
  return quorums.some((set) => others.some((foreign) => !foreign.some((m) => set.includes(m))));
}

const all = [...'ABCDEFGH'];

test.each([1, 2, 3, 4, 5, 6, 7])('%i masters and one more exclude each other', (count) => {
  expect(canBothHold(all.slice(0, count), all.slice(0, count + 1))).toBe(false);
});

test.each([
  ['ABC', 'ADE', true],
  ['ABC', 'ABD', true],
  ['ABC', 'ABCDE', true],
  ['ABC', 'ABC', false],
])('%s and %s: both may hold: %s', (one, other, expected) => {
  expect(canBothHold([...one], [...other])).toBe(expected);
});
