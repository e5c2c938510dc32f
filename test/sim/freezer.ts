// A person in a world: freezes a lock, and thaws one after a while, both by the code of redlockctl.
// There are several, and any of them thaws what another has frozen. In the end nothing is frozen.

import type { Crowd } from './contender.ts';
import type { Machine } from './machine.ts';
import { SimPerson } from './sim-person.ts';

/** Queries and requests of a step, each with a deadline. */
const roundCount = 12;

export class Freezer extends SimPerson {
  constructor(machine: Machine, crowd: Crowd) {
    super('freezer', machine, crowd);
  }

  protected override async live(): Promise<void> {
    const { options, isStormy } = this.crowd;
    while (isStormy()) {
      const resource = this.anyResource();
      await this.pause(this.random.around(options.ttlMs / 2));
      await this.#freeze(resource);
      await this.pause(this.random.around(options.ttlMs / 2));
      await this.#thaw(resource);
    }
    // What was given up may stand all the same, where an answer was lost.
    for (let round = 0; round < 4; round += 1) {
      for (let at = 1; at <= options.resourceCount; at += 1) await this.#thaw(`r${at}`);
      await this.pause(options.masterTimeoutMs);
    }
  }

  #freeze(resource: string): Promise<void> {
    const { system, witness } = this.crowd;
    return this.step(resource, this.#allowedMs, async (ways, name) => {
      const value = `freeze.${name}`;
      const query = ways.query;
      const kind = await system.freezeLock(query, resource, value, 0);
      query.close();
      this.machine.world.mark(`freeze: ${kind}`);
      if (kind === 'frozen') witness.freezes.began(resource, value);
    });
  }

  #thaw(resource: string): Promise<void> {
    const { system, witness } = this.crowd;
    return this.step(resource, this.#allowedMs, async (ways) => {
      const query = ways.query;
      const { kind } = await system.thawLock(query, resource, (value: string) => {
        witness.freezes.ends(value);
        return '';
      });
      query.close();
      this.machine.world.mark(`thaw: ${kind}`);
    });
  }

  get #allowedMs(): number {
    return roundCount * this.crowd.options.masterTimeoutMs + 1_000;
  }
}
