// The scenes: what a cell can have besides its usual runs and faults. Most have a deliberate
// mistake in the product, which their cells must find.

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
import { memoryLimit, noDescriptors, processorQuota, withoutProc } from './scenes/surroundings.ts';
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
  /** Absent: no single one is known that its cells find. */
  readonly mistake?: Mistake;
}

export const scenes: readonly Scene[] = [
  ...[calls, interleavings, freezer, slowStarts, trees, forms, verbs],
  ...[withoutProc, memoryLimit, processorQuota, noDescriptors],
];

export const mistakes: readonly Mistake[] = scenes.flatMap(({ mistake }) => mistake ?? []);

/** null: a usual cell. `name`: of the only scene that is wanted. */
export function sceneOf(
  random: Random,
  means: Means,
  broken: string | undefined,
  name: string | undefined,
): Scene | null {
  const named = scenes.find((scene) => scene.name === name);
  if (named !== undefined) return named;
  const withMistake = scenes.find(({ mistake }) => mistake && mistake.name === broken);
  if (withMistake !== undefined || broken !== undefined) return withMistake ?? null;
  const possible = scenes.filter(({ isPossible }) => isPossible(means));
  return random.pick([null, ...possible]);
}
