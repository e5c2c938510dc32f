// One machine on which locks are taken in steps: a shell calls redlockctl again and again with the
// token, and may vanish at any time. What it does is drawn from a stream of chance of its own.

import type { Crowd } from './contender.ts';
import { HoldProgram } from './hold-program.ts';
import type { Machine } from './machine.ts';
import type { Random } from './random.ts';
import { SimProcess } from './sim-process.ts';
import type { LockHandle, StepVerb } from './step-facts.ts';
import { giveUpAfterMs, StepProgram, type Ways } from './step-program.ts';

/** The connections, queries and requests of a step, each with a deadline. */
const roundCount = 12;
/** How long an acquisition may last beyond its wait. */
const giveUpMs = giveUpAfterMs + 3_000;

export class Shell {
  readonly #machine: Machine;
  readonly #crowd: Crowd;
  readonly #random: Random;
  #count = 0;

  constructor(machine: Machine, crowd: Crowd) {
    this.#machine = machine;
    this.#crowd = crowd;
    this.#random = machine.world.random.stream(`${machine.name} shell`);
    this.#startLater();
  }

  #startLater(): void {
    const { isOpen, thinkMs } = this.#crowd;
    this.#machine.world.after(thinkMs(this.#random), () => {
      if (isOpen()) this.#start();
    });
  }

  #start(): void {
    const { world } = this.#machine;
    const { options, running, isStormy } = this.#crowd;
    this.#count += 1;
    const shell = new SimProcess(this.#machine, `${this.#machine.name}.${this.#count}`);
    const isEnd = { signal: () => shell.die(), process: shell, known: { endpoints: [] } };
    running.add(isEnd);
    shell.onDeath(() => {
      running.delete(isEnd);
      this.#startLater();
    });
    if (this.#random.chance(options.vanishChance / 2)) {
      world.after(this.#random.between(0, 3 * options.ttlMs), () => {
        if (shell.isDead || !isStormy()) return;
        world.mark('shell vanishes');
        shell.die();
      });
    }
    shell.deliver(() => void this.#live(shell).catch(world.crash));
  }

  /** Never resolves in a shell that has died. */
  async #live(shell: SimProcess): Promise<void> {
    const random = this.#random;
    const { vanishChance, resourceCount, workMs, ttlMs } = this.#crowd.options;
    const resource = `r${random.integer(1, resourceCount)}`;
    const handle = random.chance(0.5)
      ? await this.#hold(shell, resource)
      : await this.#acquire(shell, resource);
    if (handle !== null) {
      for (let count = random.integer(0, 4); count > 0; count -= 1) {
        await new Promise<void>((resolve) => shell.timer(random.around(workMs / 3), resolve));
        await this.#step(shell, random.pick(['extend', 'check'] as const), handle);
      }
      if (!random.chance(vanishChance)) await this.#step(shell, 'release', handle);
    }
    // The shell does other things.
    if (random.chance(0.3))
      await new Promise<void>((resolve) => shell.timer(random.around(ttlMs), resolve));
    shell.die();
  }

  #acquire(shell: SimProcess, resource: string): Promise<LockHandle | null> {
    const { system, options, witness } = this.#crowd;
    const { waitMs } = options;
    const program = this.#program(shell, resource, waitMs + giveUpMs);
    const main = async (ways: Ways) => {
      const { close, request } = ways.locking();
      const acquisition = await system.acquireLock(request(waitMs, program.interrupted));
      close();
      if (acquisition.kind !== 'acquired') return null;
      const { claim } = acquisition.lease;
      const handle = { resource, token: claim.token, value: claim.value };
      witness.tickets.add(handle);
      program.handOver(claim);
      return handle;
    };
    return this.#result(shell, program, main);
  }

  #hold(shell: SimProcess, resource: string): Promise<LockHandle | null> {
    const { running, options, isStormy } = this.#crowd;
    const { world } = shell;
    this.#count += 1;
    const diesSilently = this.#random.chance(options.killChance / 2);
    const plan = { resource, waitMs: options.waitMs, diesSilently };
    const hold = new HoldProgram(this.#crowd, shell, this.#nextName(), plan);
    const { holder, front } = hold;
    const inFront = { signal: () => front.die(), process: front, known: { endpoints: [] } };
    running.add(holder);
    running.add(inFront);
    holder.onEnd = () => running.delete(holder);
    front.onDeath(() => running.delete(inFront));
    for (const process of [front, holder.process]) {
      if (!this.#random.chance(options.killChance / 2)) continue;
      world.after(this.#random.between(0, options.ttlMs), () => {
        if (!isStormy() || process.isDead) return;
        world.note(process.name, 'dies suddenly');
        process.die();
      });
    }
    return new Promise((resolve) => {
      void hold
        .acquireOnce()
        .then((handle) => world.after(0, () => shell.deliver(() => resolve(handle))));
    });
  }

  async #step(shell: SimProcess, verb: StepVerb, handle: LockHandle): Promise<void> {
    const { system, options, witness } = this.#crowd;
    const { world } = shell;
    const program = this.#program(
      shell,
      handle.resource,
      roundCount * options.masterTimeoutMs + 1_000,
    );
    const askedAt = world.now;
    const wasShown = witness.tickets.isShown(handle);
    if (verb === 'release') witness.ended(handle.value, 0);
    const answer = await this.#result(shell, program, async ({ query, redlock }: Ways) => {
      const named = { name: handle.resource, token: handle.token };
      const answer = await {
        extend: () => system.extendBy(named, options.ttlMs, query, redlock),
        release: () => system.releaseByToken(named, query),
        check: () => system.look(named, query),
      }[verb]();
      world.mark(`step: ${verb} ${answer.kind}`);
      witness.tell({
        kind: 'answered',
        verb,
        handle,
        answer,
        machine: shell.machine,
        askedAt,
        wasShown,
      });
      return answer;
    });
    world.note(shell.name, `${verb}: ${answer?.kind}`);
  }

  #program(shell: SimProcess, resource: string, allowedMs: number): StepProgram {
    const { running, options, isStormy } = this.#crowd;
    const { world, machine } = shell;
    const program = new StepProgram(this.#crowd, machine, this.#nextName(), resource, allowedMs);
    running.add(program);
    program.onEnd = () => running.delete(program);
    if (this.#random.chance(options.killChance / 3)) {
      world.after(this.#random.between(0, options.masterTimeoutMs), () => {
        if (isStormy()) program.process.die();
      });
    }
    return program;
  }

  /** In the shell, once the program has ended; null when it has died. */
  #result<Result>(
    shell: SimProcess,
    program: StepProgram,
    main: (ways: Ways) => Promise<Result>,
  ): Promise<Result | null> {
    return new Promise((resolve) => {
      const tell = (result: Result | null) =>
        shell.world.after(0, () => shell.deliver(() => resolve(result)));
      program.process.onDeath(() => tell(null));
      void program.run(main).then(tell);
    });
  }

  #nextName(): string {
    this.#count += 1;
    return `${this.#machine.name}.${this.#count}`;
  }
}
