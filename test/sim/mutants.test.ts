// Every mutant that shows soon is caught by its checker within its number of seeds; the others are
// in rare-mutants.test.ts. The table of `npm run sim -- --mutants` is in test/README.md.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { generous } from '../servers/patience.ts';
import { checkout } from './mutant-build.ts';
import { huntEach } from './mutant-suite.ts';
import { rowStart } from './mutant-table.ts';
import { mutants } from './mutants.ts';

describe('a mutant is caught', () => {
  huntEach(
    mutants.filter(({ isRare }) => !isRare),
    { timeout: generous(60_000) },
  );

  it('and each stands in the table', () => {
    const table = readFileSync(path.join(checkout(), 'test', 'README.md'), 'utf8');
    for (const mutant of mutants) expect(table).toContain(rowStart(mutant));
  });
});
