// A person in a world that asks holders to stop, by the code of `redlockctl stop`, each time in a
// process of its own.

import type { Crowd } from './contender.ts';
import type { Machine } from './machine.ts';
import type { Random } from './random.ts';
import { SimProcess } from './sim-process.ts';
import { StepProgram, type Ways } from './step-program.ts';

/** Until a holder listens, and until the request is repeated to one that did not hear it. */
const heardAfterMs = 2_500;

export class Stopper {
  readonly #machine: Machine;
  readonly #crowd: Crowd;
  readonly #random: Random;
  #count = 0;

  constructor(machine: Machine, crowd: Crowd) {
    this.#machine = machine;
    this.#crowd = crowd;
    this.#random = machine.world.random.stream(`${machine.name} stopper`);
    void this.#live().catch(machine.world.crash);
  }

  async #live(): Promise<void> {
    const { options, isStormy } = this.#crowd;
    const process = new SimProcess(this.#machine, `${this.#machine.name}.0`);
    while (isStormy()) {
      const resource = `r${this.#random.integer(1, options.resourceCount)}`;
      const pauseMs = this.#random.around(options.ttlMs / 2);
      await new Promise<void>((resolve) => process.timer(pauseMs, resolve));
      await this.#stop(resource);
    }
  }

  #stop(resource: string): Promise<void> {
    const { system, witness, running, options } = this.#crowd;
    const { graceMs, marginMs, masterTimeoutMs } = options;
    const { name: host, world } = this.#machine;
    this.#count += 1;
    const name = `${host}.${this.#count}`;
    const waitMs = heardAfterMs + graceMs + 2 * marginMs + 2 * masterTimeoutMs;
    const program = new StepProgram(
      this.#crowd,
      this.#machine,
      name,
      resource,
      waitMs + 10 * masterTimeoutMs + 1_000,
    );
    running.add(program);
    program.onEnd = () => running.delete(program);
    return program.run(async (ways: Ways) => {
      const query = await ways.query();
      const [reports = []] = await query.reports([resource]);
      const asked = system.askable(system.lockStateOf(resource, reports), reports);
      const by = { user: 'ops', host, pid: 1, note: name };
      for (const { token } of asked)
        await system.recordAct(
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
