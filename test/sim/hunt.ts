// Hunts a mutant: runs its world seed by seed until its checker catches it. A mutant that only
// another checker catches is not caught, because the purpose of each checker is part of the claim.

import type { Property } from './checkers.ts';
import type { Mutant } from './mutant.ts';
import { buildMutants, loadMutant } from './mutant-build.ts';
import { simulate, type Wishes } from './simulate.ts';

export interface Catch {
  readonly by: Property;
  readonly seed: number;
}

/** The world in which a mutant runs. */
export async function wishesFor(mutant: Mutant): Promise<Wishes> {
  const system = await loadMutant(buildMutants(), mutant);
  return { system, changes: mutant.flaw === undefined ? {} : { flaws: [mutant.flaw] } };
}

/**
 * Resolves with the first seed that shows the mutant, counted from 1; null: no seed within its
 * limit.
 */
export async function hunt(mutant: Mutant): Promise<Catch | null> {
  const wishes = await wishesFor(mutant);
  for (let seed = 1; seed <= mutant.withinSeeds; seed += 1) {
    const { findings } = await simulate(mutant.profile, seed, wishes);
    const finding = findings.find(({ property }) => mutant.caughtBy.includes(property));
    if (finding) return { by: finding.property, seed };
  }
  return null;
}
