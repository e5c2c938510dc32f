// A person in a world: freezes a lock, and thaws one after a while, both by the code of redlockctl,
// each time in a process of its own. There are several, and any of them thaws what another has
// frozen. In the end nothing is frozen.

import type { Crowd } from './contender.ts';
import type { Machine } from './machine.ts';
import type { Random } from './random.ts';
import { SimProcess } from './sim-process.ts';
import { StepProgram, type Ways } from './step-program.ts';

/** Queries and requests of a step, each with a deadline. */
const roundCount = 12;

export class Freezer {
  readonly #machine: Machine;
  readonly #crowd: Crowd;
  readonly #random: Random;
  #count = 0;

  constructor(machine: Machine, crowd: Crowd) {
    this.#machine = machine;
    this.#crowd = crowd;
    this.#random = machine.world.random.stream(`${machine.name} freezer`);
    void this.#live().catch(machine.world.crash);
  }

  async #live(): Promise<void> {
    const { options, isStormy } = this.#crowd;
    const process = new SimProcess(this.#machine, `${this.#machine.name}.0`);
    const pause = (ms: number) => new Promise<void>((resolve) => process.timer(ms, resolve));
    while (isStormy()) {
      const resource = `r${this.#random.integer(1, options.resourceCount)}`;
      await pause(this.#random.around(options.ttlMs / 2));
      await this.#freeze(resource);
      await pause(this.#random.around(options.ttlMs / 2));
      await this.#thaw(resource);
    }
    // What was given up may stand all the same, where an answer was lost.
    for (let round = 0; round < 4; round += 1) {
      for (let at = 1; at <= options.resourceCount; at += 1) await this.#thaw(`r${at}`);
      await pause(options.masterTimeoutMs);
    }
  }

  #freeze(resource: string): Promise<void> {
    const { system, witness } = this.#crowd;
    const value = `freeze.${this.#machine.name}.${this.#count}`;
    return this.#step(resource, async (ways) => {
      const query = await ways.query();
      const { kind } = await system.freezeLock(query, resource, value, 0);
      query.close();
      this.#machine.world.mark(`freeze: ${kind}`);
      if (kind === 'frozen') witness.freezes.began(resource, value);
    });
  }

  #thaw(resource: string): Promise<void> {
    const { system, witness } = this.#crowd;
    return this.#step(resource, async (ways) => {
      const query = await ways.query();
      const { kind } = await system.thawLock(query, resource, (value: string) => {
        witness.freezes.ends(value);
        return '';
      });
      query.close();
      this.#machine.world.mark(`thaw: ${kind}`);
    });
  }

  #step(resource: string, work: (ways: Ways) => Promise<void>): Promise<void> {
    const { options, running } = this.#crowd;
    this.#count += 1;
    const name = `${this.#machine.name}.${this.#count}`;
    const allowedMs = roundCount * options.masterTimeoutMs + 1_000;
    const program = new StepProgram(this.#crowd, this.#machine, name, resource, allowedMs);
    running.add(program);
    program.onEnd = () => running.delete(program);
    return program.run(work);
  }
}
