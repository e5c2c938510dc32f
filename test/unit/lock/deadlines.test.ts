// When a command is stopped, killed and its lock extended: what holds for every combination of ttl,
// grace and time of a master that is accepted, over a grid from 1 ms to a day. Exhaustive and
// without chance, so that a breach is told with its numbers.

import { expect, it } from 'vitest';
import { defaultDriftFactor, driftMsOf, validUntilOf } from '../../../src/lock/quorum.ts';
import { dangerOf, type RunTimings, runTimings, stopAtMsOf } from '../../../src/lock/timings.ts';

const dayMs = 86_400_000;
/** 1, 2, 3, 5, 7 and 9 of every power of ten up to a day, and the neighbours of what matters. */
const durations = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000]
  .flatMap((unit) => [1, 2, 3, 5, 7, 9].map((digit) => digit * unit))
  .concat([499, 500, 501, 4_999, 5_001, 14_999, 15_001, 29_999, 30_001, 39_999, 40_001, dayMs])
  .filter((ms) => ms <= dayMs)
  .sort((a, b) => a - b);
/** Null: not given. */
const given = [null, ...durations];
const graces = [null, 0, ...durations];

interface Row {
  /** ttl, grace, time of a master. */
  readonly given: readonly [number, number | null, number | null];
  readonly timings: RunTimings;
  readonly isAccepted: boolean;
}

const rowOf = (...[ttlMs, graceMs, timeoutMs]: Row['given']): Row => {
  const timings = runTimings(ttlMs, timeoutMs, graceMs);
  const isAccepted = dangerOf(timings, true) === null;
  return { given: [ttlMs, graceMs, timeoutMs], timings, isAccepted };
};

/** By the places of the three in their lists. */
const table = durations.map((ttlMs) =>
  graces.map((graceMs) => given.map((timeoutMs) => rowOf(ttlMs, graceMs, timeoutMs))),
);
const grid = table.flat(2);
const accepted = grid.filter((row) => row.isAccepted);

const told = ({ given: [ttlMs, graceMs, timeoutMs] }: Row) =>
  `ttl ${ttlMs}, grace ${graceMs}, timeout ${timeoutMs}`;

/** The rows that break a rule, as they were given. */
function breaking(rows: readonly Row[], rule: (timings: RunTimings) => boolean): string[] {
  return rows.filter(({ timings }) => !rule(timings)).map(told);
}

/** A lease that was asked for at this instant. */
const startedAt = 1_000_000;
const endOf = (from: number, ttlMs: number) => validUntilOf(from, ttlMs, defaultDriftFactor);
const killAtOf = ({ ttlMs, marginMs }: RunTimings) => endOf(startedAt, ttlMs) - marginMs;
const validityMsOf = ({ ttlMs }: RunTimings) => endOf(0, ttlMs);
const stopAtOf = (timings: RunTimings) => startedAt + stopAtMsOf(timings);

it('accepts some of the grid and refuses some', () => {
  expect(grid.length).toBeGreaterThan(100_000);
  expect(accepted.length).toBeGreaterThan(10_000);
  expect(accepted.length).toBeLessThan(grid.length / 2);
});

it.each<[string, (timings: RunTimings) => boolean]>([
  ['kills before the validity ends', (one) => killAtOf(one) < endOf(startedAt, one.ttlMs)],
  ['kills the grace after the stop', (one) => killAtOf(one) - stopAtOf(one) === one.graceMs],
  ['stops after the lock was asked for', (one) => stopAtOf(one) > startedAt],
  [
    'waits for a master before it stops the command',
    (one) => one.masterTimeoutMs < stopAtMsOf(one),
  ],
  ['extends after a pause', (one) => one.extendEveryMs > 0],
  ['extends at a third of the ttl at the latest', (one) => one.extendEveryMs <= one.ttlMs / 3],
  [
    'has the answers of two extensions, with the pause between them, before it stops',
    (one) => one.extendEveryMs + 2 * 1.5 * one.masterTimeoutMs <= stopAtMsOf(one),
  ],
  [
    'has the grace left when an extension at a third of the ttl has failed',
    (one) => validityMsOf(one) > one.ttlMs / 3 + one.masterTimeoutMs + one.graceMs,
  ],
  [
    'adds up to the ttl, with the drift of the clocks',
    (one) =>
      stopAtMsOf(one) + one.graceMs + one.marginMs + driftMsOf(one.ttlMs, defaultDriftFactor) ===
      one.ttlMs,
  ],
  [
    'is in whole milliseconds',
    ({ driftFactor, ...durations }) => Object.values(durations).every(Number.isInteger),
  ],
])('whatever is accepted %s', (_, rule) => {
  expect(breaking(accepted, rule)).toEqual([]);
});

it.each<[string, number | null, (timings: RunTimings) => boolean]>([
  ['a master has 50 ms to 2 s', null, (one) => between(one.masterTimeoutMs, 50, 2_000)],
  ['the grace is a third, at most 5 s', null, (one) => between(one.graceMs, 0, 5_000)],
  ['the margin is a sixth, at most 1 s', null, (one) => between(one.marginMs, 0, 1_000)],
])('left to itself, %s', (_, none, rule) => {
  const rows = durations.map((ttlMs) => rowOf(ttlMs, none, none));
  expect(breaking(rows, rule)).toEqual([]);
});

it('left to itself, every ttl from half a second to a day is accepted', () => {
  const rows = durations.filter((ms) => ms >= 500).map((ttlMs) => rowOf(ttlMs, null, null));
  expect(rows.filter((row) => !row.isAccepted).map(told)).toEqual([]);
});

it('a longer ttl, a shorter grace or a faster master makes nothing unsafe', () => {
  const worse: string[] = [];
  const compare = (safe: Row, safer: Row | undefined) => {
    if (safer && !safer.isAccepted) worse.push(`${told(safe)} -> ${told(safer)}`);
  };
  for (const [at, ofTtl] of table.entries()) {
    for (const [grace, ofGrace] of ofTtl.entries()) {
      for (const [timeout, row] of ofGrace.entries()) {
        if (!row.isAccepted) continue;
        compare(row, table[at + 1]?.[grace]?.[timeout]);
        // Null stands first, and is not shorter than what follows.
        if (grace > 1) compare(row, ofTtl[grace - 1]?.[timeout]);
        if (timeout > 1) compare(row, ofGrace[timeout - 1]);
      }
    }
  }
  expect(worse).toEqual([]);
});

function between(ms: number, least: number, most: number): boolean {
  return ms >= least && ms <= most;
}
