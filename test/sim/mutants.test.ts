// Every deliberate mistake that shows itself soon is caught by the checker that is there for it, within its number of seeds; the others in
// rare-mutants.test.ts. The table that `npm run sim -- --mutants` makes of this stands in test/README.md.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hunt } from './hunt.ts';
import { buildMutants, checkout } from './mutant-build.ts';
import { rowStart } from './mutant-table.ts';
import { mutants } from './mutants.ts';

const silent = process.listeners('warning');
beforeAll(() => {
  process.removeAllListeners('warning');
  buildMutants();
}, 120_000);
afterAll(() => {
  for (const listener of silent) process.on('warning', listener);
});

describe('a mutant is caught', () => {
  it.each(mutants.filter(({ isRare }) => !isRare))('$name: $breaks', { timeout: 60_000 }, async (mutant) => {
    const caught = await hunt(mutant);
    expect(caught, `not caught by ${mutant.caughtBy.join(' or ')} in ${mutant.withinSeeds} seeds`).not.toBeNull();
  });

  it('and each stands in the table', () => {
    const table = readFileSync(path.join(checkout(), 'test', 'README.md'), 'utf8');
    for (const mutant of mutants) expect(table).toContain(rowStart(mutant));
  });
});
