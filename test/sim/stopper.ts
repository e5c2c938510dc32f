// A person in a world that asks holders to stop, by the code of `redlockctl stop`.

import type { Crowd } from './contender.ts';
import type { Machine } from './machine.ts';
import { SimPerson } from './sim-person.ts';

/** Until a holder listens, and until the request is repeated to one that did not hear it. */
const heardAfterMs = 2_500;

export class Stopper extends SimPerson {
  constructor(machine: Machine, crowd: Crowd) {
    super('stopper', machine, crowd);
  }

  protected override async live(): Promise<void> {
    const { options, isStormy } = this.crowd;
    while (isStormy()) {
      const resource = this.anyResource();
      await this.pause(this.random.around(options.ttlMs / 2));
      await this.#stop(resource);
    }
  }

  #stop(resource: string): Promise<void> {
    const { system, witness, options } = this.crowd;
    const { graceMs, marginMs, masterTimeoutMs } = options;
    const { name: host, world } = this.machine;
    const waitMs = heardAfterMs + graceMs + 2 * marginMs + 2 * masterTimeoutMs;
    return this.step(resource, waitMs + 10 * masterTimeoutMs + 1_000, async (ways, name) => {
      const query = ways.query;
      const [reports = []] = await query.reports([resource]);
      const asked = system.askable(system.lockStateOf(resource, reports), reports);
      const by = { user: 'ops', host, pid: 1, note: name };
      for (const { token } of asked)
        await system.addToHistory(
          query,
          resource,
          system.renderAct({ kind: 'stop', id: name, by, token }),
        );
      witness.stops.asked(name, asked);
      const askedAt = world.now;
      const outcome =
        asked.length === 0
          ? 'free'
          : await system.askToStop(query, ways.clock, resource, asked, { id: name, by }, waitMs);
      query.close();
      world.mark(`stop: ${outcome}`);
      witness.tell({ kind: 'stop-answered', id: name, asked, outcome, askedAt });
    });
  }
}
