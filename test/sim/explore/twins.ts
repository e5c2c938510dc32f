// Whether states that the search takes for one behave alike: each that is reached by several
// schedules is left by every step after each of them, and must lead to the same states.

import type { System } from '../system.ts';
import type { Setting } from './setting.ts';
import { SmallWorld, type Step } from './small-world.ts';

export interface Comparison {
  /** How often a state was left after another schedule than the first that led to it. */
  readonly comparedCount: number;
  /** Two schedules to one state that behave differently; null: there are none. */
  readonly differing: readonly [string, string] | null;
}

interface Known {
  /** Where its steps lead, as a text. */
  readonly ways: string;
  readonly path: readonly Step[];
  count: number;
}

/** In so many states, the nearest to the beginning. */
export async function compareTwins(
  setting: Setting,
  system: System,
  stateCount: number,
): Promise<Comparison> {
  const known = new Map<string, Known>();
  const queue: (readonly Step[])[] = [[]];
  let comparedCount = 0;
  const play = async (path: readonly Step[]) => {
    const world = new SmallWorld(setting, system);
    for (const step of path) await world.take(step);
    return world;
  };
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    const world = await play(path);
    const text = world.state();
    const before = known.get(text);
    if (before ? before.count >= mostTwins : known.size >= stateCount) continue;
    const ways: string[] = [];
    for (const step of world.steps()) {
      const next = [...path, step];
      const { kind, client, act } = step;
      ways.push(`${kind} ${client} ${act} ${(await play(next)).state()}`);
      if (!before) queue.push(next);
    }
    const all = ways.sort().join('\n\n');
    if (!before) {
      known.set(text, { ways: all, path, count: 1 });
      continue;
    }
    comparedCount += 1;
    before.count += 1;
    if (before.ways === all) continue;
    const tell = (steps: readonly Step[]) => steps.map((step) => world.describe(step)).join('; ');
    return { comparedCount, differing: [tell(before.path), tell(path)] };
  }
  return { comparedCount, differing: null };
}

/** After how many schedules a state is left. */
const mostTwins = 3;
