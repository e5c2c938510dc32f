// All schedules of a small world, the shortest first: a search in breadth over its states. A state
// is entered once, at the end of a shortest schedule that leads to it, and every step that is
// possible there is taken. So when all states of so many steps have been left, every schedule of
// one step more has been played, but for those that only differ in how they reach a state. *Note:*
// the promises of the clients cannot be copied, so each step is taken by a new world, which plays
// the schedule again from the beginning.

import { createHash } from 'node:crypto';
import type { System } from '../system.ts';
import type { Setting } from './setting.ts';
import { type Finding, SmallWorld, type Step } from './small-world.ts';

export interface Limits {
  /** The most states; then the search ends. Default: no limit. */
  readonly states?: number;
  /** The most steps of a schedule. Default: no limit. */
  readonly depth?: number;
}

export interface Exploration {
  readonly stateCount: number;
  /** How often a step led from a state to another one, which may have been known. */
  readonly stepCount: number;
  /** Every schedule of at most so many steps was played. */
  readonly depth: number;
  /** Whether there are no longer ones that lead to other states: every state was entered. */
  readonly isWhole: boolean;
  /** The first property that was broken, and a shortest schedule that breaks it; null: none was. */
  readonly broken: { readonly finding: Finding; readonly schedule: readonly string[] } | null;
}

/** The last step of a schedule; null: it has none. */
type Path = { readonly before: Path; readonly step: Step } | null;

interface Place {
  readonly path: Path;
  /** What may happen next. */
  readonly steps: readonly Step[];
}

/** Explores until a property is broken, all is explored, or a limit is reached. */
export async function explore(
  setting: Setting,
  system: System,
  limits: Limits = {},
): Promise<Exploration> {
  const { states = Number.POSITIVE_INFINITY } = limits;
  const deepest = limits.depth ?? Number.POSITIVE_INFINITY;
  const beginning = new SmallWorld(setting, system);
  const known = new Set([hashOf(beginning)]);
  let level: readonly Place[] = [{ path: null, steps: beginning.steps() }];
  let stepCount = 0;
  let depth = 0;
  while (level.some(({ steps }) => steps.length > 0) && depth < deepest) {
    const next: Place[] = [];
    for (const { path, steps } of level) {
      const schedule = stepsOf(path);
      for (const step of steps) {
        const world = new SmallWorld(setting, system);
        for (const each of schedule) await world.take(each, true);
        await world.take(step);
        stepCount += 1;
        const { finding } = world;
        if (finding !== null) {
          const told = [...schedule, step].map((one) => world.describe(one));
          const broken = { finding, schedule: told };
          return { stateCount: known.size, stepCount, depth, isWhole: false, broken };
        }
        const hash = hashOf(world);
        if (known.has(hash)) continue;
        if (known.size >= states)
          return { stateCount: known.size, stepCount, depth, isWhole: false, broken: null };
        known.add(hash);
        next.push({ path: { before: path, step }, steps: world.steps() });
      }
    }
    level = next;
    depth += 1;
  }
  const isWhole = level.every(({ steps }) => steps.length === 0);
  return { stateCount: known.size, stepCount, depth, isWhole, broken: null };
}

function stepsOf(path: Path): readonly Step[] {
  const steps: Step[] = [];
  for (let at = path; at !== null; at = at.before) steps.push(at.step);
  return steps.reverse();
}

function hashOf(world: SmallWorld): string {
  return createHash('sha1').update(world.state()).digest('base64').slice(0, 20);
}
