// Schedules of a small world by chance: the quickest way to one that breaks a property. What it
// does not find in so many schedules may still be there, unlike in explorer.ts.

import { Random } from '../random.ts';
import type { System } from '../system.ts';
import type { Setting } from './setting.ts';
import { type Finding, SmallWorld } from './small-world.ts';

export interface Caught {
  readonly finding: Finding;
  readonly schedule: readonly string[];
  /** How many schedules were played. */
  readonly scheduleCount: number;
}

/** Resolves with the first schedule that breaks a property; null: none of so many does. */
export async function wander(
  setting: Setting,
  system: System,
  mostSchedules: number,
): Promise<Caught | null> {
  const random = new Random(setting.name);
  for (let scheduleCount = 1; scheduleCount <= mostSchedules; scheduleCount += 1) {
    const world = new SmallWorld(setting, system);
    const schedule: string[] = [];
    for (let steps = world.steps(); steps.length > 0; steps = world.steps()) {
      const step = random.pick(steps);
      schedule.push(world.describe(step));
      await world.take(step);
      const { finding } = world;
      if (finding !== null) return { finding, schedule, scheduleCount };
    }
  }
  return null;
}
