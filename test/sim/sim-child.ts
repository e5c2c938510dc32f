// The command of a run with its background processes: works for a while, obeys the stop signal or
// does not, dies of SIGKILL a moment after it. It implements the Child port for both redlock-run
// and its guard, and goes on while redlock-run is stopped.

import type { Clock } from '../../src/lock/ports.ts';
import type { Child, Ended } from '../../src/run/child.ts';
import type { ChildExit } from '../../src/run/run-result.ts';
import type { Machine } from './machine.ts';
import { SimProcess } from './sim-process.ts';

export interface ChildHabits {
  readonly workMs: number;
  readonly exitCode: number;
  /** From the stop signal to its end; null: it ignores the signal. */
  readonly obeysInMs: number | null;
  readonly diesInMs: number;
  /** A background process that lives so much longer than the command; null: there is none. */
  readonly leftoverMs: number | null;
}

/** A command with all processes that it has started. */
export interface Tree {
  readonly aliveCount: number;
  /** Alive, and on a machine that is awake: able to do harm. */
  readonly isRunning: boolean;
  stop(): void;
  kill(clock: Clock): Promise<readonly number[]>;
}

/** Between two scans, as in src/run/processes. */
const apartMs = 30;
const emptyScanCount = 3;

export class SimTree implements Tree {
  readonly machine: Machine;
  readonly #habits: ChildHabits;
  readonly #alive = new Set<SimProcess>();
  readonly #root: SimProcess;
  readonly #onExit: (exit: ChildExit) => void;

  #isObeying = false;

  constructor(
    machine: Machine,
    name: string,
    habits: ChildHabits,
    onExit: (exit: ChildExit) => void,
  ) {
    this.machine = machine;
    this.#habits = habits;
    this.#onExit = onExit;

    this.#root = this.#spawn(`${name}:child`);
    this.#root.timer(habits.workMs, () => this.#finishWork());
  }

  get aliveCount(): number {
    return this.#alive.size;
  }

  get isRunning(): boolean {
    return this.#alive.size > 0 && !this.machine.isAsleep;
  }

  stop(): void {
    const { obeysInMs } = this.#habits;
    if (this.#isObeying || obeysInMs === null) return;
    this.#isObeying = true;
    for (const process of this.#alive) {
      process.timer(obeysInMs, () => this.#end(process, { kind: 'signaled', signal: 'SIGTERM' }));
    }
  }

  /** Until three scans in a row have found no process. */
  async kill(clock: Clock): Promise<readonly number[]> {
    for (let emptyCount = 0; emptyCount < emptyScanCount; ) {
      emptyCount = this.#alive.size === 0 ? emptyCount + 1 : 0;
      for (const process of this.#alive) {
        process.timer(this.#habits.diesInMs, () =>
          this.#end(process, { kind: 'signaled', signal: 'SIGKILL' }),
        );
      }
      if (emptyCount < emptyScanCount) await clock.sleep(this.#alive.size > 0 ? 1 : apartMs);
    }
    return [];
  }

  #spawn(name: string): SimProcess {
    const process = new SimProcess(this.machine, name);
    this.#alive.add(process);
    return process;
  }

  #finishWork(): void {
    const { leftoverMs, exitCode } = this.#habits;
    if (leftoverMs !== null && !this.#isObeying) {
      const leftover = this.#spawn(`${this.#root.name}'s`);
      leftover.timer(leftoverMs, () => this.#end(leftover, null));
    }
    this.#end(this.#root, { kind: 'exited', code: exitCode });
  }

  #end(process: SimProcess, exit: ChildExit | null): void {
    if (process.isDead) return;
    process.die();
    this.#alive.delete(process);
    if (process === this.#root && exit !== null) this.#onExit(exit);
  }
}

const neverStarted: Ended = {
  exit: { kind: 'never-started', reason: 'suspended' },
  leftCount: 0,
  agoMs: 0,
};

/** The access of redlock-run to the tree, once the guard has started it; null: it has not. */
export function childOf(
  started: Promise<Tree | null>,
  clock: Clock,
  exited: Promise<ChildExit>,
): Child {
  let tree: Tree | null = null;
  void started.then((one) => {
    tree = one;
  });
  const never = started.then((one) => (one === null ? neverStarted : new Promise<never>(() => {})));
  return {
    started: started.then((one) => (one === null ? undefined : 1)),
    // The guard reports both on one pipe, in this order.
    exited: Promise.race([
      never,
      Promise.all([exited, started]).then(([exit]) => ({
        exit,
        leftCount: tree?.aliveCount ?? 0,
        agoMs: 0,
      })),
    ]),
    relay: (signal) => signal === 'SIGTERM' && tree?.stop(),
    stop: () => tree?.stop(),
    hasNamespace: false,
    kill: async () => (await started)?.kill(clock) ?? [],
    countAlive: async () => tree?.aliveCount ?? 0,
  };
}
