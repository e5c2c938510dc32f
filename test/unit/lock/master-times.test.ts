// Jumps of a master's clock as they are told apart from slow answers.

import { expect, it } from 'vitest';
import { jumpBetween } from '../../../src/lock/round.ts';

const leadAt = (asked: number, at: number, time: number) => ({
  minMs: time - at,
  maxMs: time - asked,
  at,
});

/** Two answers: when asked, when answered, what the master's clock said. */
type Answer = [asked: number, answered: number, time: number];

it.each<[string, Answer, Answer, jumpMs: number]>([
  ['in step', [0, 1, 5_000], [1_000, 1_001, 6_000], 0],
  ['slow by one percent', [0, 1, 5_000], [10_000, 10_001, 14_900], 0],
  ['set forward by a second', [0, 1, 5_000], [1_000, 1_001, 7_000], 999],
  ['set back by a second', [0, 1, 5_000], [1_000, 1_001, 5_000], -999],
  ['an answer read late, as on a busy machine', [0, 1, 5_000], [1_000, 1_900, 6_000], 0],
  ['after an answer read late', [0, 900, 5_000], [1_000, 1_001, 6_000], 0],
  ['a jump that a slow answer might explain', [0, 1, 5_000], [1_000, 1_900, 6_800], 0],
  ['a jump larger than a slow answer can explain', [0, 1, 5_000], [1_000, 1_900, 8_000], 1_100],
])('%s', (_, first, second, jumpMs) => {
  expect(jumpBetween(leadAt(...first), leadAt(...second))).toBe(jumpMs);
});
