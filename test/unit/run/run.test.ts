// How a run ends when it learns late of its command's end: it was suspended, or leftover processes
// took their time. And how it ends by a bug.

import { expect, it } from 'vitest';
import type { Unkillable } from '../../../src/lock/history.ts';
import { childEnvironment } from '../../../src/run/environment.ts';
import { exitStatusOf, factsOf } from '../../../src/run/outcome.ts';
import type {
  Child,
  ChildEnd,
  ChildEvent,
  RunHost,
  RunLock,
  RunSettings,
} from '../../../src/run/ports.ts';
import { type ChildExit, nothingSeen } from '../../../src/run/record.ts';
import { Run } from '../../../src/run/run.ts';
import { claim, settings } from './rig.ts';

const cannotExtend = { kind: 'unreachable', failures: [] } as const;
const released = { releasedCount: 1, isConfirmed: true, missing: null, failures: [] };
const validUntil = 3_000;

type Ended = Omit<ChildEnd, 'kind'>;

const held = {
  extend: async () => cannotExtend,
  release: async () => released,
  settled: async () => {},
} as unknown as RunLock['held'];

/** A run under a lease that is valid until 3000, on a clock that stands still until it is set. */
function startRun(
  parts: Partial<RunLock & RunHost> = {},
  childParts: Partial<Child> & { readonly unkillable?: readonly Unkillable[] } = {},
  others: Partial<RunSettings> = {},
) {
  let now = 0;
  let hear: (event: ChildEvent) => void = () => {};
  const kills: number[] = [];
  const { unkillable = [], ...ownChild } = childParts;
  const child: Child = {
    setDeadlines: () => {},
    relay: () => {},
    stop: () => {},
    kill: () => {
      kills.push(now);
    },
    keep: () => {},
    ...ownChild,
  };
  const lock: RunLock = {
    held,
    acquire: async () => ({
      kind: 'acquired',
      lease: { claim, startedAt: 0, validUntil, fence: 1 },
      grantedCount: 3,
      elapsedMs: 0,
    }),
    listen: null,
    areMastersReplaced: () => false,
    entryOf: () => null,
    ...parts,
  };
  const run = new Run({ ...settings, ...others }, lock, {
    clock: { now: () => now, sleep: () => new Promise(() => {}) },
    random: Math.random,
    report: () => {},
    startChild: (_lease, _timeLeft, report) => {
      hear = report;
      return child;
    },
    onLost: () => {},
    suspendUs: () => {},
    seen: () => nothingSeen,
    ...parts,
  });
  const finished = run.start();
  const exitAt = (at: number, ended: Ended) => {
    now = at;
    hear({ kind: 'exited', ...ended });
  };
  return {
    run,
    finished,
    hear: (event: ChildEvent) => hear(event),
    exitAt,
    /** Nothing is left then, or what cannot be killed. */
    endAt: (at: number, ended: Ended) => {
      exitAt(at, ended);
      hear({ kind: 'swept', unkillable });
    },
    kills,
    setNow: (at: number) => {
      now = at;
    },
  };
}

/** How a run ends that hears at `heardAt` that its command has ended `agoMs` before. */
async function resultOf(exit: ChildExit, heardAt: number, agoMs = 0) {
  const { finished, endAt } = startRun();
  await new Promise(setImmediate);
  endAt(heardAt, { exit, leftCount: 0, agoMs });
  return await finished;
}

it('a command killed after the end of its lease has lost its lock', async () => {
  const result = await resultOf({ kind: 'signaled', signal: 'SIGTERM' }, 5_000);
  expect(result.cause).toMatchObject({ kind: 'lost', reason: 'suspended' });
});

it.each<[string, ChildExit, number, number]>([
  ['one that was killed while it was ours', { kind: 'signaled', signal: 'SIGTERM' }, 1_000, 0],
  ['one that ended in time', { kind: 'exited', code: 0 }, 2_999, 0],
  ['one that ended in time and is heard of late', { kind: 'exited', code: 0 }, 5_000, 2_001],
])('%s ends as it ended', async (_title, exit, heardAt, agoMs) => {
  const result = await resultOf(exit, heardAt, agoMs);
  expect(result).toMatchObject({ cause: { kind: 'child' }, childExit: exit });
});

it.each<[ChildExit, number]>([
  [{ kind: 'not-found' }, 1_000],
  [{ kind: 'not-found' }, 5_000],
  [{ kind: 'not-executable', message: 'EACCES' }, 2_850],
  [{ kind: 'cannot-start', why: 'guard: it does not start' }, 2_850],
])('a command that never ran has no time and loses no lock: %j at %i', async (exit, heardAt) => {
  const result = await resultOf(exit, heardAt);
  expect(result).toMatchObject({ cause: { kind: 'child' }, childExit: exit, runMs: null });
});

it.each([
  ['not extended in time, where that is soon after', 2_801, false, 'unreachable'],
  ['not extended in time, where the guard is a moment early', 2_750, false, 'unreachable'],
  ['suspended, where that is long after', 3_301, false, 'suspended'],
  ['starved, where a CPU quota leaves no time', 1_000, true, 'starved'],
])('a run whose guard stops the command was %s', async (_title, at, isStarved, reason) => {
  const { finished, hear, setNow, endAt } = startRun();
  await new Promise(setImmediate);
  setNow(at);
  hear({ kind: 'stopping', isStarved });
  endAt(at, { exit: { kind: 'exited', code: 0 }, leftCount: 0, agoMs: at });
  expect((await finished).cause).toMatchObject({ kind: 'lost', reason });
});

it('a command killed when it had to be stopped was not extended in time', async () => {
  const result = await resultOf({ kind: 'signaled', signal: 'SIGTERM' }, 2_850);
  expect(result.cause).toMatchObject({ kind: 'lost', reason: 'unreachable' });
});

it('a command that ended by itself after validity has lost its lock', async () => {
  const { cause } = await resultOf({ kind: 'exited', code: 0 }, 5_000, 2_000);
  expect(cause).toMatchObject({ kind: 'lost', reason: 'suspended' });
});

it.each<[string, number, string]>([
  ['while it was ours', 1_000, 'signal'],
  ['after validity', 5_000, 'lost'],
])('a command that was told to stop and ended %s', async (_title, at, kind) => {
  const { run, finished, endAt } = startRun();
  await new Promise(setImmediate);
  run.signal('SIGTERM', false);
  endAt(at, { exit: { kind: 'signaled', signal: 'SIGTERM' }, leftCount: 0, agoMs: 0 });
  expect((await finished).cause.kind).toBe(kind);
});

it('a command that ended in time has lost its lock when what it left behind did not', async () => {
  const { finished, hear, exitAt, setNow } = startRun();
  await new Promise(setImmediate);
  exitAt(1_000, { exit: { kind: 'exited', code: 0 }, leftCount: 1, agoMs: 0 });
  setNow(3_000);
  hear({ kind: 'swept', unkillable: [] });
  expect((await finished).cause).toMatchObject({ kind: 'lost' });
});

it('a run that was suspended until its lease was over starts and kills nothing', async () => {
  const events: string[] = [];
  const { finished, setNow, kills } = startRun({
    report: ({ kind }) => events.push(kind),
    startChild: () => {
      throw new Error('it must not be started');
    },
  });
  setNow(validUntil);
  const record = await finished;
  expect(record).toMatchObject({
    cause: { kind: 'lost', reason: 'suspended' },
    childExit: { kind: 'never-started', reason: 'suspended' },
    isKilled: false,
    unkillable: [],
  });
  expect(exitStatusOf(record, 75).code).toBe(79);
  expect(events).toEqual(['never-started', 'released']);
  expect(kills).toEqual([]);
});

it('a command that was never started: --on-lost is told of the lock, and it is 79', async () => {
  let told: NodeJS.ProcessEnv = {};
  const { finished, setNow } = startRun({
    onLost: (lease, record) => {
      const { lossReason } = factsOf(record, 75);
      told = { ...childEnvironment({}, lease, null, '', false), REDLOCK_LOST: lossReason ?? '' };
    },
  });
  setNow(validUntil);
  const record = await finished;
  expect(exitStatusOf(record, 75).code).toBe(79);
  expect(told).toMatchObject({
    REDLOCK_LOST: 'suspended',
    REDLOCK_NAME: 'x',
    REDLOCK_TOKEN: 'token',
    REDLOCK_FENCE: '1',
  });
});

it('a command that its guard refuses to start is neither stopped nor killed', async () => {
  const events: string[] = [];
  const { finished, endAt, kills } = startRun({ report: ({ kind }) => events.push(kind) });
  await new Promise(setImmediate);
  endAt(100, { exit: { kind: 'never-started', reason: 'suspended' }, leftCount: 0, agoMs: 0 });
  const record = await finished;
  expect(record).toMatchObject({ cause: { kind: 'lost', reason: 'suspended' }, isKilled: false });
  expect(exitStatusOf(record, 75).code).toBe(79);
  expect(events).toEqual(['never-started', 'released']);
  expect(kills).toEqual([]);
});

it('a bug while the lock is held kills the command, and is never told as its end', async () => {
  const bug = new Error('a bug');
  const { run, finished, endAt, kills } = startRun();
  await new Promise(setImmediate);
  run.crash(bug);
  endAt(10, { exit: { kind: 'signaled', signal: 'SIGKILL' }, leftCount: 0, agoMs: 0 });
  await expect(finished).rejects.toBe(bug);
  expect(kills).toHaveLength(1);
});

it.each<[string, number, number]>([
  ['the rest of the ttl', 0, claim.ttlMs - 1_000],
  ['the time for which it is kept', 3_600_000, 3_599_000],
])('a release that no quorum confirms tells for how long keys stand: %s', async (_, least, ms) => {
  const told: number[] = [];
  const unconfirmed = { ...released, isConfirmed: false };
  const { finished, endAt } = startRun(
    {
      held: { ...held, release: async () => unconfirmed },
      report: (event) => {
        if (event.kind === 'release-unconfirmed') told.push(event.remainingMs);
      },
    },
    {},
    { holdAtLeastMs: least },
  );
  await new Promise(setImmediate);
  endAt(1_000, { exit: { kind: 'exited', code: 0 }, leftCount: 0, agoMs: 0 });
  await finished;
  expect(told).toEqual([ms]);
});

it.each<[string, readonly [NodeJS.Signals, number][], string]>([
  ['one Ctrl-C, which the command has received as well', [['SIGINT', 0]], 'child'],
  [
    'two within two seconds',
    [
      ['SIGINT', 0],
      ['SIGINT', 1_999],
    ],
    'signal',
  ],
  [
    'two with two seconds in between',
    [
      ['SIGINT', 0],
      ['SIGINT', 2_000],
    ],
    'child',
  ],
  [
    'two signals of different kinds',
    [
      ['SIGINT', 0],
      ['SIGQUIT', 1],
    ],
    'child',
  ],
])('%s', async (_, signals, expected) => {
  const { run, finished, hear, endAt, setNow } = startRun();
  await new Promise(setImmediate);
  hear({ kind: 'started', pid: 1 });
  for (const [signal, at] of signals) {
    setNow(at);
    run.signal(signal, true);
  }
  endAt(2_500, { exit: { kind: 'exited', code: 0 }, leftCount: 0, agoMs: 0 });
  expect((await finished).cause.kind).toBe(expected);
});

it('a loss is passed on once, with the lease and the first reason', async () => {
  const losses: unknown[] = [];
  const { finished, endAt } = startRun({
    onLost: ({ claim: { token } }, record) => losses.push([token, factsOf(record, 75).lossReason]),
  });
  await new Promise(setImmediate);
  // It is not known whether it was started, and it is stopped.
  endAt(10, { exit: { kind: 'unknown-start' }, leftCount: 1, agoMs: 0 });
  expect((await finished).cause.kind).toBe('lost');
  expect(losses).toEqual([[claim.token, 'guard-lost']]);
});

it('Ctrl-C stops a run whose command is being started, and has not received it', async () => {
  const stops: string[] = [];
  const { run, finished, endAt } = startRun({}, { stop: (signal) => stops.push(signal) });
  await new Promise(setImmediate);
  run.signal('SIGINT', true);
  expect(stops).toEqual(['SIGINT']);
  endAt(10, { exit: { kind: 'signaled', signal: 'SIGINT' }, leftCount: 0, agoMs: 0 });
  expect((await finished).cause.kind).toBe('signal');
});

it('a machine that cannot start the command now: nothing is stopped, and 69', async () => {
  const events: string[] = [];
  const { finished, endAt, kills } = startRun({ report: ({ kind }) => events.push(kind) });
  await new Promise(setImmediate);
  endAt(10, { exit: { kind: 'cannot-start', why: 'x' }, leftCount: 0, agoMs: 0 });
  const record = await finished;
  expect(factsOf(record, 75)).toMatchObject({ outcome: 'not-started', status: 69 });
  expect(events).toEqual(['child-exited', 'released']);
  expect(kills).toEqual([]);
});

it('a caller that is gone ends the wait, with the conflict exit code', async () => {
  const { run, finished } = startRun({
    acquire: (aborted) =>
      new Promise((resolve) => {
        aborted.addEventListener('abort', () => resolve({ kind: 'aborted' }));
      }),
    startChild: () => {
      throw new Error('it must not be started');
    },
  });
  run.post({ kind: 'caller-gone' });
  expect(factsOf(await finished, 33)).toMatchObject({ outcome: 'aborted', status: 33 });
});

it('processes that cannot be killed: named, and the lock is kept until it expires', async () => {
  const kept: number[] = [];
  const events: unknown[] = [];
  const { finished, endAt } = startRun(
    {
      held: {
        ...held,
        release: async (_: unknown, keepMs: number) => {
          kept.push(keepMs);
          return released;
        },
      },
      report: (event) => event.kind === 'unkillable' && events.push(event),
    },
    { unkillable: [{ pid: 42, user: 'root' }] },
    { holdAtLeastMs: 0 },
  );
  await new Promise(setImmediate);
  endAt(1_000, { exit: { kind: 'exited', code: 0 }, leftCount: 1, agoMs: 0 });
  const record = await finished;
  const unkillable = [{ pid: 42, user: 'root' }];
  expect(record.unkillable).toEqual(unkillable);
  expect(kept).toEqual([claim.ttlMs - 1_000]);
  expect(events).toEqual([{ kind: 'unkillable', unkillable, remainingMs: claim.ttlMs - 1_000 }]);
});
