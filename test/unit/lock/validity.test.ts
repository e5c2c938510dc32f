// The arithmetic of the distlock page, for every number of masters and every ttl that a table can
// hold.

import { describe, expect, it } from 'vitest';
import { defaultDriftFactor, driftMsOf, quorumOf, validUntilOf } from '../../../src/lock/quorum.ts';

it.each([
  [1, 1],
  [2, 2],
  [3, 2],
  [4, 3],
  [5, 3],
  [6, 4],
  [7, 4],
  [8, 5],
  [9, 5],
])('of %i masters %i are a quorum', (count, quorum) => {
  expect(quorumOf(count)).toBe(quorum);
});

it('any two quorums share a master, and no smaller number would do', () => {
  for (let count = 1; count <= 1_000; count += 1) {
    expect(2 * quorumOf(count)).toBeGreaterThan(count);
    expect(2 * (quorumOf(count) - 1)).toBeLessThanOrEqual(count);
  }
});

it.each([
  [1, defaultDriftFactor, 3],
  [100, defaultDriftFactor, 3],
  [101, defaultDriftFactor, 4],
  [30_000, defaultDriftFactor, 302],
  [86_400_000, defaultDriftFactor, 864_002],
  [30_000, 0, 2],
  [30_000, 0.002, 62],
  [1_000, 0.0001, 3],
])('ttl %i ms and factor %j: %i ms for drift', (ttlMs, factor, driftMs) => {
  expect(driftMsOf(ttlMs, factor)).toBe(driftMs);
});

describe('validity', () => {
  it('ends before the ttl does, by the drift, counted from the start of the round', () => {
    for (let ttlMs = 1; ttlMs <= 100_000; ttlMs += 7) {
      const until = validUntilOf(5_000, ttlMs, defaultDriftFactor);
      expect(until).toBe(5_000 + ttlMs - driftMsOf(ttlMs, defaultDriftFactor));
      expect(5_000 + ttlMs - until).toBeGreaterThanOrEqual(ttlMs / 100 + 2);
    }
  });
});
