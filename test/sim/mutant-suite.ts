// Shared by the files of mutants: the common ones, and the rare ones, which show only in some of
// many worlds.

import { beforeAll, expect, it } from 'vitest';
import { generous } from '../servers/patience.ts';
import { hunt } from './hunt.ts';
import type { Mutant } from './mutant.ts';
import { buildMutants } from './mutant-build.ts';
import { knownSeeds } from './mutant-table.ts';
import { leaveWarningsToWorlds } from './warnings.ts';

/**
 * A test for each mutant: its checker catches it within its number of seeds, of which the one that
 * did when the table was made is the first.
 */
export function huntEach(
  some: readonly Mutant[],
  options: { readonly timeout?: number } = {},
): void {
  leaveWarningsToWorlds();
  beforeAll(() => buildMutants(), generous(120_000));

  const known = knownSeeds();
  it.each(some)('$name: $breaks', options, async (mutant) => {
    const seed = known.get(mutant.name);
    const caught = await hunt(mutant, seed);
    if (caught !== null && caught.seed !== seed)
      process.stderr.write(`  ${mutant.name}: not with seed ${seed}; now with ${caught.seed}\n`);
    expect(
      caught,
      `not caught by ${mutant.caughtBy.join(' or ')} in ${mutant.withinSeeds} seeds`,
    ).not.toBeNull();
  });
}
