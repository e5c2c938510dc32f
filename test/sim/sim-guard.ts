// The guard of a run: src/run/guard/guard.ts in a process of its own, wired as in
// src/programs/guard.ts. Messages of redlock-run reach it through a pipe, which closes when
// redlock-run dies. As in src, the guard starts the command.

import type { Clock } from '../../src/lock/ports.ts';
import type { GuardLink, TimeLeft } from '../../src/run/ports.ts';
import type { Tree } from './sim-child.ts';
import { SimProcess } from './sim-process.ts';
import type { System } from './system.ts';

export interface GuardOptions {
  readonly graceMs: number;
  readonly slackMs: number;
  /** How much longer its start, and any message, may take at most; 0: never. */
  readonly lateMs: number;
}

/** How long a line takes through the pipe until it is read. */
const pipeMs = 0.5;
const startMs = 40;

export class SimGuard implements GuardLink {
  readonly process: SimProcess;
  readonly #ward: SimProcess;
  /** It runs, and has said so. */
  readonly #ready: Promise<void>;
  readonly #slackMs: number;
  readonly #lateMs: number;
  #clock: Clock | null = null;
  #guard: InstanceType<System['Guard']> | null = null;
  #tree: Tree | null = null;
  #lastAt = 0;

  constructor(system: System, ward: SimProcess, options: GuardOptions, onStopping: () => void) {
    this.process = new SimProcess(ward.machine, `${ward.name}:guard`);
    this.#ward = ward;
    this.#slackMs = options.slackMs;
    this.#lateMs = options.lateMs;
    this.#ready = new Promise((resolve) => {
      ward.world.after(startMs + this.#delayMs(), () =>
        this.process.deliver(() => {
          const clock = system.createSystemClock(() => {}, ward.machine.alarmedFor(this.process));
          const guarded = {
            stop: () => this.#tree?.stop(),
            kill: () => this.#kill(clock),
            isEmpty: () => (this.#tree?.aliveCount ?? 0) === 0,
            size: () => this.#tree?.aliveCount ?? 0,
          };
          const settings = { stopSignal: 'SIGTERM', graceMs: options.graceMs } as const;
          this.#clock = clock;
          this.#guard = new system.Guard(settings, guarded, clock, () =>
            this.#pipe(ward, onStopping),
          );
          this.#pipe(ward, resolve);
        }),
      );
    });
    ward.onDeath(() => this.#pipe(this.process, () => void this.#guard?.abandon()));
  }

  setDeadlines(timeLeft: TimeLeft): void {
    const sent = this.#readings();
    const [stopInMs, killInMs] = timeLeft();
    this.#pipe(this.process, () => {
      const passedMs = Math.max(
        ...this.#readings().map((reading, index) => reading - (sent[index] ?? reading)),
      );
      const from = (this.#clock?.now() ?? 0) - passedMs + this.#slackMs;
      this.#guard?.setDeadlines(from + stopInMs, from + killInMs);
    });
  }

  /** Resolves when the guard runs and has these deadlines, and redlock-run has the confirmation. */
  async confirm(timeLeft: TimeLeft): Promise<null> {
    await this.#ready;
    this.setDeadlines(timeLeft);
    return new Promise((resolve) => {
      this.#pipe(this.process, () => this.#pipe(this.#ward, () => resolve(null)));
    });
  }

  /** Starts the command; null: its lease is over by then. */
  start(startTree: () => Tree): Promise<Tree | null> {
    return new Promise((resolve) => {
      this.#pipe(this.process, () => {
        const tree = this.#guard?.mayStart ? startTree() : null;
        this.#tree = tree;
        if (tree !== null) this.#guard?.begin();
        this.#pipe(this.#ward, () => resolve(tree));
      });
    });
  }

  done(): void {
    this.#pipe(this.process, () => {
      this.#guard?.finish();
      this.process.die();
    });
  }

  async #kill(clock: Clock): Promise<void> {
    if (this.#tree && this.#tree.aliveCount > 0)
      this.process.world.mark('child killed by the guard');
    await this.#tree?.kill(clock);
  }

  #pipe(target: SimProcess, action: () => void): void {
    const { world } = this.#ward;
    this.#lastAt = Math.max(
      this.#lastAt,
      world.now + world.random.around(pipeMs) + this.#delayMs(),
    );
    world.at(this.#lastAt, () => target.deliver(action));
  }

  /** On a crowded machine. Draws nothing where no guard is late. */
  #delayMs(): number {
    const { random } = this.#ward.world;
    return this.#lateMs > 0 && random.chance(0.3) ? random.between(0, this.#lateMs) : 0;
  }

  #readings(): number[] {
    const { machine } = this.#ward;
    return [machine.monotonic(), machine.boot(), machine.wall()];
  }
}
