// One machine on which redlock-run is started again and again, with what befalls programs: signals,
// sudden death, commands that obey and commands that do not. All of it is drawn from the machine's
// own stream of chance.

import type { Machine } from './machine.ts';
import { type ExecutionContext, type Plan, Program } from './program.ts';
import type { Random } from './random.ts';
import type { Rosters } from './rosters.ts';
import { haveBoth, type Running } from './weather.ts';
import { drawWish } from './wish.ts';

export interface Crowd extends ExecutionContext {
  /** The programs that are running. */
  readonly running: Set<Running>;
  readonly rosters: Rosters;
  /** False: no further program is started. */
  isOpen(): boolean;
  /** False: no program dies suddenly any more. */
  isStormy(): boolean;
  /** Between the end of one run and the start of the next, drawn by chance. */
  thinkMs(random: Random): number;
}

export class Contender {
  readonly machine: Machine;
  readonly #crowd: Crowd;
  readonly #random: Random;
  #programCount = 0;

  constructor(machine: Machine, crowd: Crowd) {
    this.machine = machine;
    this.#crowd = crowd;
    this.#random = machine.world.random.stream(machine.name);
    this.#startLater();
  }

  #startLater(): void {
    this.machine.world.after(this.#crowd.thinkMs(this.#random), () => {
      if (!this.#crowd.isOpen()) return;
      if (this.machine.isAsleep) this.#startLater();
      else this.#start();
    });
  }

  #start(): void {
    const { machine } = this;
    const { running } = this.#crowd;
    this.#programCount += 1;
    const servers = this.#crowd.rosters.of(machine, this.#crowd.servers);
    const program = new Program(
      { ...this.#crowd, servers },
      machine,
      `${machine.name}.${this.#programCount}`,
      this.#plan(),
      this.#random,
    );
    running.add(program);
    program.onEnd = () => {
      running.delete(program);
      this.#startLater();
    };
    this.#disturb(program);
  }

  #plan(): Plan {
    const random = this.#random;
    const { options } = this.#crowd;
    const { ttlMs, graceMs, marginMs, waitMs } = options;
    const leftoverMs = random.chance(options.leftoverChance) ? random.around(ttlMs) : null;
    return {
      wish: this.#crowd.rosters.wishOf(this.machine, drawWish(options, random)),
      waitMs,
      holdAtLeastMs: random.chance(options.holdAtLeastChance) ? ttlMs / 2 : 0,
      maxRunMs: random.chance(0.1) ? random.between(1, 2 * ttlMs) : null,
      habits: {
        workMs: random.around(options.workMs),
        exitCode: random.chance(0.1) ? 1 : 0,
        obeysInMs: random.chance(options.stubbornChance) ? null : random.around(graceMs / 4),
        diesInMs: random.between(0, Math.min(20, marginMs / 8)),
        leftoverMs,
      },
    };
  }

  #disturb(program: Program): void {
    const random = this.#random;
    const { world } = this.machine;
    const { signalChance, killChance, ttlMs } = this.#crowd.options;
    if (random.chance(signalChance)) {
      const signal = random.pick(['SIGTERM', 'SIGINT', 'SIGHUP'] as const);
      world.after(random.between(0, 2 * ttlMs), () => {
        if (program.known.endedAt === null) world.mark(signal);
        program.signal(signal);
      });
    }
    if (random.chance(killChance)) {
      world.after(random.between(0, 3 * ttlMs), () => {
        if (program.known.endedAt !== null || !this.#crowd.isStormy()) return;
        if (haveBoth(program.guards) && random.chance(0.25)) return this.#killGuard(program);
        world.note(program.process.name, 'dies suddenly');
        world.mark('sudden death');
        program.process.die();
      });
    }
  }

  /** The other guard ends the command. */
  #killGuard({ guards }: Program): void {
    const guard = this.#random.pick(guards);
    const { world } = this.machine;
    world.note(guard.name, 'dies suddenly');
    world.mark('death of a guard');
    guard.die();
  }
}
