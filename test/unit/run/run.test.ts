// What a run makes of the end of its command when it was stopped itself meanwhile: the guard may have ended it, and its word come later.

import { expect, it } from 'vitest';
import { Run, type RunParts } from '../../../src/run/run.ts';
import type { ChildExit } from '../../../src/run/supervisor.ts';
import { claim, settings } from './rig.ts';

const cannotExtend = { kind: 'unreachable', failures: [] } as const;
const released = { releasedCount: 1, isConfirmed: true, missing: null, failures: [] };

/** How it ends when the child does at `exitAt`, which is when the run wakes up; of its alarms none has sounded by then. */
async function endingOf(exit: ChildExit, exitAt: number) {
  let now = 0;
  let end: (exit: ChildExit) => void = () => {};
  const exited = new Promise<ChildExit>((resolve) => {
    end = resolve;
  });
  const child = { pid: 1, exited, relay: () => {}, stop: () => {}, kill: async () => [], aliveCount: () => 0 };
  const parts: RunParts = {
    redlock: {
      extend: async () => cannotExtend,
      release: async () => released,
      settled: async () => {},
      joinLine: () => Promise.reject(new Error('nobody waits here')),
    } as unknown as RunParts['redlock'],
    clock: { now: () => now, sleep: () => new Promise(() => {}) },
    random: Math.random,
    report: () => {},
    guard: { arm: () => {}, watch: () => {}, done: () => {} },
    acquire: async () => ({ kind: 'acquired', lease: { claim, startedAt: 0, validUntil: 3_000, fence: 1 } }),
    startChild: () => child,
    suspendUs: () => {},
    recordOf: () => null,
  };
  const finished = new Run(settings, parts).start();
  await new Promise(setImmediate);
  now = exitAt;
  end(exit);
  return (await finished).ending;
}

it('a command that was killed when its lease was over has lost its lock, whoever tells it first', async () => {
  const ending = await endingOf({ kind: 'signaled', signal: 'SIGTERM' }, 5_000);
  expect(ending.cause).toMatchObject({ kind: 'lost', reason: 'stalled' });
});

it.each<[string, ChildExit, number]>([
  ['one that was killed while it was ours', { kind: 'signaled', signal: 'SIGTERM' }, 1_000],
  ['one that ended by itself, some time or other', { kind: 'exited', code: 0 }, 5_000],
])('%s ends as it ended', async (_title, exit, exitAt) => {
  expect(await endingOf(exit, exitAt)).toMatchObject({ cause: { kind: 'child' }, childExit: exit });
});
