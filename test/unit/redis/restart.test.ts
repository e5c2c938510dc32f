// Which votes of a server do not count yet, by its uptime, its mark and the marks of the others.
// The real servers of test/redis show how a mark comes about.

import { expect, test } from 'vitest';
import type { Failed } from '../../../src/lock/types.ts';
import type { Connection } from '../../../src/redis/connection/connection.ts';
import { type Mark, parseIdentity, ServerRegistry } from '../../../src/redis/identity.ts';
import { areMarked, defaultRestartGraceMs, restartFailureOf } from '../../../src/redis/restart.ts';

const graceMs = 30_000;
const settings = { prefix: 'p:', restartGraceMs: graceMs };
const now = 1_000_000;
const clock = { now: () => now, sleep: async () => {} };

const identity = (uptimeMs: number | null, mark: Mark | null, runId: string) => ({
  ...parseIdentity(null, ['master', 0, []], now, null),
  runId,
  startedAt: uptimeMs === null ? null : now - uptimeMs,
  mark,
});
const markOf = (forMs: number | null | undefined): Mark | null => {
  if (forMs === undefined) return null;
  const [id, since] = forMs === null ? [null, now] : ['x', now - forMs];
  return { id, since, sets: [] };
};

interface Told {
  readonly uptimeMs: number | null;
  /** For how long the mark has stood; null: there is none; absent: it was refused. */
  readonly forMs?: number | null;
  readonly others?: readonly (number | null | undefined)[];
  readonly isDurable?: boolean;
  readonly later?: readonly number[];
}

async function failureOf(told: Told): Promise<string | null> {
  const { uptimeMs, forMs, others = [], isDurable = true, later = [] } = told;
  const registry = new ServerRegistry();
  for (const name of ['a', 'b', 'c']) registry.list(name);
  const own = identity(uptimeMs, markOf(forMs), 'run-a');
  registry.admit('a', own);
  const admit = (at: number, ms: number | null | undefined) =>
    registry.admit('bc'[at] as string, identity(86_400_000, markOf(ms), `run-${at}`));
  for (const [at, ms] of others.entries()) admit(at, ms);
  const connection = { identified: own, survivesRestart: async () => isDurable };
  const asked = restartFailureOf({
    connection: connection as unknown as Connection,
    name: 'a',
    registry,
    clock: later.length > 0 ? { ...clock, sleep: () => new Promise<void>(() => {}) } : clock,
    mayWrite: true,
    ...settings,
  });
  for (const [at, ms] of later.entries()) admit(others.length + at, ms);
  const failure: Failed | null = asked === null ? null : await asked;
  return failure?.message.replace(/ and may .*: counts again within/, ':') ?? null;
}

const day = 86_400_000;
const [started, why] = [
  'restarted 4 s ago and was found without its mark',
  '(it is new, or was emptied)',
];
const emptied = `${started} 2 s ago ${why}: 28 s`;
const lost = 'was found without its mark 2 s ago: 28 s';

test.each<[string, Told, string | null]>([
  ['in use for long', { uptimeMs: day, forMs: day }, null],
  ['restarted with all its data', { uptimeMs: 5_000, forMs: day, others: [day] }, null],
  [
    'restarted, and does not fsync always',
    { uptimeMs: 5_000, forMs: day, isDurable: false },
    'restarted 4 s ago: 26 s',
  ],
  ['restarted with another disk', { uptimeMs: 5_000, forMs: 2_000, others: [day] }, emptied],
  ['restarted with another disk, alone', { uptimeMs: 5_000, forMs: 2_000 }, emptied],
  ['all restarted empty', { uptimeMs: 5_000, forMs: 2_000, others: [2_000, 2_000] }, emptied],
  // Only a run writes the mark, and the time begins with it.
  [
    'restarted, seen by a look',
    { uptimeMs: 5_000, forMs: null },
    `restarted 4 s ago without its mark ${why}: 30 s of the next run`,
  ],
  ['restarted, mark refused', { uptimeMs: 5_000 }, null],
  ['mark older than the grace', { uptimeMs: 40_000, forMs: graceMs, others: [day] }, null],
  ['flushed while it ran', { uptimeMs: day, forMs: 2_000, others: [day] }, lost],
  ['flushed, one other is silent', { uptimeMs: day, forMs: 2_000, others: [null, day] }, lost],
  ['first marks of all', { uptimeMs: day, forMs: 2_000, others: [2_000, 2_500] }, null],
  // What masters.md warns of: it looks like the other one, which is met for the first time.
  ['flushed 1.9 s after the first marks', { uptimeMs: day, forMs: 0, others: [0, 1_900] }, null],
  [
    'flushed 2.1 s after the first marks',
    { uptimeMs: day, forMs: 0, others: [0, 2_100] },
    lost.replace('2 s ago: 28', '0 s ago: 30'),
  ],
  ['first marks, the third is down', { uptimeMs: day, forMs: 2_000, others: [1_000] }, null],
  ['no other one is known in time', { uptimeMs: day, forMs: 2_000 }, lost],
  ['flushed, the others come later', { uptimeMs: day, forMs: 2_000, later: [day] }, lost],
  ['flushed, one refuses marks', { uptimeMs: day, forMs: 2_000, others: [undefined, day] }, lost],
  [
    'flushed, one refuses marks, the third comes later',
    { uptimeMs: day, forMs: 2_000, others: [undefined], later: [day] },
    lost,
  ],
  [
    'first marks, one refuses marks',
    { uptimeMs: day, forMs: 2_000, others: [undefined, 2_000] },
    null,
  ],
  ['first marks, both others refuse', { uptimeMs: day, forMs: 2_000, others: [undefined] }, lost],
  ['first marks, the others come later', { uptimeMs: day, forMs: 2_000, later: [2_000] }, null],
  ['tells no uptime', { uptimeMs: null, forMs: 2_000, others: [2_000] }, lost],
  ['tells no uptime, old mark', { uptimeMs: null, forMs: day }, null],
])('%s', async (_title, told, expected) => {
  expect(await failureOf(told)).toBe(expected);
});

test('no mark without a grace, and none in the older protocol', () => {
  expect(areMarked(30_000, 'redlock')).toBe(true);
  expect(areMarked(0, 'redlock')).toBe(false);
  expect(areMarked(30_000, 'setnx')).toBe(false);
});

test.each([
  [[{}], 0],
  [[{}, {}], 0],
  [[{}, {}, {}], 30_000],
  [[{ sentinels: { primary: 'p', hosts: [] } }], 30_000], // Its replacement may have forgotten.
])('the grace where none is set: of %j it is %i ms', (masters, expected) => {
  expect(defaultRestartGraceMs(masters, 30_000)).toBe(expected);
});
