// A person in a world: calls redlockctl now and then, each time in a process of its own.

import type { Crowd } from './contender.ts';
import type { Machine } from './machine.ts';
import type { Random } from './random.ts';
import { SimProcess } from './sim-process.ts';
import { StepProgram, type Ways } from './step-program.ts';

export abstract class SimPerson {
  protected readonly machine: Machine;
  protected readonly crowd: Crowd;
  protected readonly random: Random;
  readonly #process: SimProcess;
  #stepCount = 0;

  /** `role`: names the stream of chance. */
  constructor(role: string, machine: Machine, crowd: Crowd) {
    this.machine = machine;
    this.crowd = crowd;
    this.random = machine.world.random.stream(`${machine.name} ${role}`);
    this.#process = new SimProcess(machine, `${machine.name}.0`);
    void this.live().catch(machine.world.crash);
  }

  /** What this person does until the world ends; begins with a pause, as it is still being made. */
  protected abstract live(): Promise<void>;

  protected pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#process.timer(ms, resolve));
  }

  protected anyResource(): string {
    return `r${this.random.integer(1, this.crowd.options.resourceCount)}`;
  }

  /** One call, over after `allowedMs` at the latest. `work` gets the name of its process. */
  protected step(
    resource: string,
    allowedMs: number,
    work: (ways: Ways, name: string) => Promise<void>,
  ): Promise<void> {
    const { running } = this.crowd;
    this.#stepCount += 1;
    const name = `${this.machine.name}.${this.#stepCount}`;
    const program = new StepProgram(this.crowd, this.machine, name, resource, allowedMs);
    running.add(program);
    program.onEnd = () => running.delete(program);
    return program.run((ways) => work(ways, name));
  }
}
