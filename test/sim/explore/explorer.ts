// All schedules of a small world: a search in depth over its states. A state is entered once; steps
// that commute are not taken in both orders (sleep sets: Godefroid, Partial-Order Methods for the
// Verification of Concurrent Systems, 1996, chapter 5). Sleep sets leave out steps, not states.
// *Note:* the promises of the clients cannot be copied, so whenever the search goes back, a new
// world plays the schedule again from the beginning.

import { createHash } from 'node:crypto';
import type { System } from '../system.ts';
import type { Setting } from './setting.ts';
import { type Finding, type Footprint, SmallWorld, type Step } from './small-world.ts';

export interface Limits {
  /** The most states; then the search ends unfinished. */
  readonly states: number;
  /** Default: true. Whether steps that commute are taken in one order only. */
  readonly areStepsLeftOut?: boolean;
}

export interface Exploration {
  readonly stateCount: number;
  /** How often a step led from a state to another one, which may have been known. */
  readonly stepCount: number;
  /** How many schedules were played from the beginning. */
  readonly scheduleCount: number;
  /** The steps of the longest schedule. */
  readonly depth: number;
  /** Whether all states were entered. */
  readonly isWhole: boolean;
  /** The first property that was broken, and the schedule that breaks it; null: none was. */
  readonly broken: { readonly finding: Finding; readonly schedule: readonly string[] } | null;
}

/** The steps that need not be taken in a state, each with what it touches. */
type Sleeping = ReadonlyMap<string, { readonly step: Step; readonly footprint: Footprint }>;

interface Place {
  readonly todo: Step[];
  /** Grows by the steps that have been taken from here. */
  readonly sleeping: Map<string, { readonly step: Step; readonly footprint: Footprint }>;
}

/** Explores until a property is broken, all is explored, or a limit is reached. */
export async function explore(
  setting: Setting,
  system: System,
  limits: Limits = { states: Number.POSITIVE_INFINITY },
): Promise<Exploration> {
  /** By state, the steps that were left out there, by their names in the state. */
  const known = new Map<string, readonly string[]>();
  let [stepCount, scheduleCount, depth] = [0, 1, 0];
  const path: Step[] = [];
  let world = new SmallWorld(setting, system);
  /** Whether the world is where the path leads. */
  let isThere = true;

  /** Where to go on from a state; null: nowhere. */
  const enter = (sleeping: Sleeping): Place | null => {
    const { text, places } = world.state();
    const hash = createHash('sha1').update(text).digest('base64').slice(0, 20);
    const named = (step: Step) => nameOf(step, places);
    const asleep = new Set([...sleeping.values()].map(({ step }) => named(step)));
    const before = known.get(hash);
    const steps = world.steps();
    if (before === undefined) {
      known.set(hash, asleep.size === 0 ? none : [...asleep]);
      return {
        todo: steps.filter((step) => !asleep.has(named(step))),
        sleeping: new Map(sleeping),
      };
    }
    const left = before.filter((name) => !asleep.has(name));
    if (left.length === 0) return null;
    known.set(
      hash,
      before.filter((name) => asleep.has(name)),
    );
    const still = [...sleeping].filter(([, { step }]) => before.includes(named(step)));
    return {
      todo: steps.filter((step) => left.includes(named(step))),
      sleeping: new Map(still),
    };
  };

  const result = (isWhole: boolean, finding: Finding | null = null): Exploration => ({
    stateCount: known.size,
    stepCount,
    scheduleCount,
    depth,
    isWhole,
    broken: finding && { finding, schedule: path.map((step) => world.describe(step)) },
  });

  const root = enter(new Map());
  const places = root === null ? [] : [root];
  for (let position = places.at(-1); position !== undefined; position = places.at(-1)) {
    const step = position.todo.shift();
    if (step === undefined) {
      places.pop();
      path.pop();
      isThere = false;
      continue;
    }
    if (known.size >= limits.states) return result(false);
    if (!isThere) {
      world = new SmallWorld(setting, system);
      for (const each of path) await world.take(each, true);
      scheduleCount += 1;
    }
    const footprint = await world.take(step);
    stepCount += 1;
    path.push(step);
    depth = Math.max(depth, path.length);
    if (world.finding) return result(false, world.finding);
    const { areStepsLeftOut = true } = limits;
    const asleep = [...position.sleeping].filter(
      ([, one]) => areStepsLeftOut && commute(one.footprint, footprint),
    );
    position.sleeping.set(keyOf(step), { step, footprint });
    const next = enter(new Map(asleep));
    isThere = next !== null;
    if (next === null) path.pop();
    else places.push(next);
  }
  return result(true);
}

const none: readonly string[] = [];

function commute(a: Footprint, b: Footprint): boolean {
  return !a.includes('all') && !b.includes('all') && !a.some((one) => b.includes(one));
}

function keyOf({ kind, client, master, line, act }: Step): string {
  return `${kind} ${client} ${master} ${line} ${act}`;
}

/** The name of a step in a state, where masters are numbered by their places. */
function nameOf(step: Step, places: readonly number[]): string {
  return keyOf({ ...step, master: places[step.master] ?? -1 });
}
