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
  return { system: await loadMutant(buildMutants(), mutant) };
}

/**
 * Resolves with a seed that shows the mutant; null: none within its limit. `likely` is tried first,
 * then all of them from 1.
 */
export async function hunt(mutant: Mutant, likely = 1): Promise<Catch | null> {
  const wishes = { ...(await wishesFor(mutant)), until: mutant.caughtBy };
  const all = Array.from({ length: mutant.withinSeeds }, (_, index) => index + 1);
  const seeds = new Set([likely, ...all].filter((seed) => all.includes(seed)));
  for (const seed of seeds) {
    const { findings } = await simulate(mutant.profile, seed, wishes);
    const finding = findings.find(({ property }) => mutant.caughtBy.includes(property));
    if (finding) return { by: finding.property, seed };
  }
  return null;
}
