// The command of a run with its background processes: works for a while, obeys the stop signal or
// does not, dies of SIGKILL a moment after it. Its guard stops and kills it, and it goes on while
// redlock-run is stopped.

import type { ChildExit } from '../../src/run/record.ts';
import type { Machine } from './machine.ts';
import { SimProcess } from './sim-process.ts';

export interface ChildHabits {
  readonly workMs: number;
  readonly exitCode: number;
  /** From the stop signal to its end; null: it ignores the signal. */
  readonly obeysInMs: number | null;
  readonly diesInMs: number;
  /** How much longer than the command a background process lives; null: there is none. */
  readonly leftoverMs: number | null;
}

/** A command with all processes that it has started. */
export interface Tree {
  readonly aliveCount: number;
  /** Alive, and on a machine that is awake: able to do harm. */
  readonly isRunning: boolean;
  /** How the command itself has ended; null: it has not. */
  readonly exit: ChildExit | null;
  stop(): void;
  /** Kills what is alive now. */
  kill(): void;
}

export class SimTree implements Tree {
  readonly machine: Machine;
  exit: ChildExit | null = null;
  readonly #habits: ChildHabits;
  readonly #alive = new Set<SimProcess>();
  readonly #root: SimProcess;
  readonly #onEnd: () => void;
  #isObeying = false;

  /** `onEnd` is called when any of its processes has ended. */
  constructor(machine: Machine, name: string, habits: ChildHabits, onEnd: () => void) {
    this.machine = machine;
    this.#habits = habits;
    this.#onEnd = onEnd;
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
    this.#endAll(obeysInMs, 'SIGTERM');
  }

  kill(): void {
    this.#endAll(this.#habits.diesInMs, 'SIGKILL');
  }

  #endAll(afterMs: number, signal: 'SIGTERM' | 'SIGKILL'): void {
    for (const process of this.#alive) {
      process.timer(afterMs, () => this.#end(process, { kind: 'signaled', signal }));
    }
  }

  #spawn(name: string): SimProcess {
    const process = new SimProcess(this.machine, name);
    this.#alive.add(process);
    return process;
  }

  #finishWork(): void {
    const { leftoverMs, exitCode } = this.#habits;
    const exit = { kind: 'exited', code: exitCode } as const;
    if (leftoverMs !== null && !this.#isObeying) {
      const leftover = this.#spawn(`${this.#root.name}'s`);
      leftover.timer(leftoverMs, () => this.#end(leftover, exit));
    }
    this.#end(this.#root, exit);
  }

  #end(process: SimProcess, exit: ChildExit): void {
    if (process.isDead) return;
    process.die();
    this.#alive.delete(process);
    if (process === this.#root) this.exit = exit;
    this.#onEnd();
  }
}
