// The contract of the Master port (src/lock/ports.ts) for every implementation: the one on Redis
// and the simulated one, so that the simulator cannot lie. Call it in a test file with the name of
// the implementation and a World (world.ts).
//
// *Note:* it has no time-outs. A master may be silent for ever; the caller decides how long to
// wait.

import { describe } from 'vitest';
import { faults } from './faults.ts';
import { freezes } from './freezes.ts';
import { line } from './line.ts';
import { lists } from './lists.ts';
import { looks } from './looks.ts';
import { order } from './order.ts';
import { preemption } from './preemption.ts';
import { several } from './several.ts';
import { shared } from './shared.ts';
import { skips, starts } from './skips.ts';
import { slots } from './slots.ts';
import { upkeep } from './upkeep.ts';
import { votes } from './votes.ts';
import type { World } from './world.ts';

export function masterContract(name: string, world: World): void {
  describe(`${name} as a Master`, () => {
    votes(world);
    upkeep(world);
    line(world);
    order(world);
    faults(world);
    shared(world);
    slots(world);
    several(world);
    skips(world);
    starts(world);
    preemption(world);
    looks(world);
    freezes(world);
    lists(world);
  });
}
