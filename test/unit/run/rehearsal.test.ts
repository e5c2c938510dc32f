// A rehearsal goes through a whole run and leaves no trace, whatever goes wrong in it.

import { expect, it } from 'vitest';
import { alone } from '../../../src/lock/ports.ts';
import { neverStarted } from '../../../src/run/never-started.ts';
import { rehearse } from '../../../src/run/rehearsal.ts';
import { createSystemClock } from '../../../src/system-clock.ts';

const settings = {
  graceMs: 100,
  marginMs: 100,
  extendEveryMs: 1_000,
  masterTimeoutMs: 100,
  stopSignal: 'SIGTERM',
  holdAtLeastMs: 60_000,
  maxRunMs: 60_000,
  keepsBackground: false,
} as const;

function partsOf(startChild: () => typeof neverStarted) {
  const acts: string[] = [];
  const parts = {
    clock: createSystemClock(),
    random: Math.random,
    newClaim: () => ({ ...alone, resources: ['x'], value: 'token {}', ttlMs: 3_000, isFenced: true, waiter: null }),
    startChild: () => {
      acts.push('start');
      return startChild();
    },
    recordOf: () => {
      acts.push('record');
      return null;
    },
    rehearseGuard: () => acts.push('guard'),
  };
  return { parts, acts };
}

it('starts, sweeps and releases', async () => {
  const { parts, acts } = partsOf(() => neverStarted);
  await rehearse(settings, parts);
  expect(acts).toEqual(['guard', 'start', 'record']);
});

it('is silent when the machine cannot start anything at all', async () => {
  const { parts, acts } = partsOf(() => {
    throw new Error('EMFILE');
  });
  await rehearse(settings, parts);
  expect(acts).toEqual(['guard', 'start']);
});
