// The scenes: what a cell can have besides its usual runs and faults. Each one has a deliberate
// mistake in the product, which its cells must find.

import type { Random } from '../sim/random.ts';
import type { MasterKind } from './cell-master.ts';
import type { Plan } from './contender.ts';
import type { Kind } from './faults.ts';
import type { Means } from './means.ts';
import type { Mistake } from './product.ts';
import { calls } from './scenes/calls.ts';
import { forms } from './scenes/forms.ts';
import { freezer } from './scenes/freezer.ts';
import { interleavings } from './scenes/interleavings.ts';
import { slowStarts } from './scenes/slow-starts.ts';
import { trees } from './scenes/trees.ts';
import { verbs } from './scenes/verbs.ts';

export interface Scene {
  readonly name: string;
  /** Whether it can be played on this machine. */
  readonly isPossible: (means: Means) => boolean;
  /** What is special about a run; `plan` is one of a usual cell. */
  readonly planned: (plan: Plan, random: Random, means: Means) => Plan;
  /** Its own faults, beside the usual ones. */
  readonly faults: Readonly<Record<string, Kind>>;
  readonly ttlsMs: readonly number[];
  /** Absent: of all kinds. */
  readonly masters?: readonly MasterKind[];
  readonly mistake: Mistake;
}

export const scenes: readonly Scene[] = [
  ...[calls, interleavings, freezer, slowStarts, trees, forms, verbs],
];

export const mistakes: readonly Mistake[] = scenes.map(({ mistake }) => mistake);

/** null: a usual cell. */
export function sceneOf(random: Random, means: Means, broken: string | undefined): Scene | null {
  const withMistake = scenes.find(({ mistake }) => mistake.name === broken);
  if (withMistake !== undefined || broken !== undefined) return withMistake ?? null;
  const possible = scenes.filter(({ isPossible }) => isPossible(means));
  return random.pick([null, ...possible]);
}
