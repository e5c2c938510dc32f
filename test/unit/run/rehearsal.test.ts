// A rehearsal goes through a whole run and leaves no trace, whatever goes wrong in it.

import { expect, it } from 'vitest';
import { neverStarted } from '../../../src/run/never-started.ts';
import { rehearse } from '../../../src/run/rehearsal.ts';
import { createSystemClock } from '../../../src/system-clock.ts';
import { claim, settings } from './rig.ts';

function partsOf(startChild: () => typeof neverStarted) {
  const acts: string[] = [];
  const parts = {
    clock: createSystemClock(),
    random: Math.random,
    newClaim: () => claim,
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
