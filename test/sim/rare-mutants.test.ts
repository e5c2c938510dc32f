// The deliberate mistakes that only show in some of many worlds: as mutants.test.ts, for longer than `npm test` should take. By name,
// `npm test -- --project mutants`.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { hunt } from './hunt.ts';
import { buildMutants } from './mutant-build.ts';
import { mutants } from './mutants.ts';

const silent = process.listeners('warning');
beforeAll(() => {
  process.removeAllListeners('warning');
  buildMutants();
}, 120_000);
afterAll(() => {
  for (const listener of silent) process.on('warning', listener);
});

it.each(mutants.filter(({ isRare }) => isRare))('$name: $breaks', async (mutant) => {
  const caught = await hunt(mutant);
  expect(caught, `not caught by ${mutant.caughtBy.join(' or ')} in ${mutant.withinSeeds} seeds`).not.toBeNull();
});
