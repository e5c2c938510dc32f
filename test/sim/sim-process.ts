// A process on a machine: code that runs when an event reaches it, unless the process is stopped
// (SIGSTOP, a long garbage collection) or dead. Events queue up meanwhile. After a pause, the seed
// decides whether timers or network events come first, because Node promises neither order.

import type { Machine } from './machine.ts';
import type { World } from './world.ts';

interface Waiting {
  readonly isTimer: boolean;
  readonly action: () => void;
}

/** How much too late timers fire on a healthy machine, on average. */
const lateMs = 0.3;

export class SimProcess {
  readonly name: string;
  readonly machine: Machine;
  readonly world: World;
  isDead = false;
  #pauseCount = 0;
  #pausedAt = 0;
  #waiting: Waiting[] = [];
  readonly #onDeath: (() => void)[] = [];

  constructor(machine: Machine, name: string) {
    this.machine = machine;
    this.name = name;
    this.world = machine.world;
    machine.processes.add(this);
    if (machine.isAsleep) this.pause();
  }

  get isPaused(): boolean {
    return this.#pauseCount > 0;
  }

  /** Runs the action as an event of its own, now or as soon as the process can. */
  deliver(action: () => void, isTimer = false): void {
    if (this.isDead) return;
    if (this.isPaused) {
      this.#waiting.push({ isTimer, action });
      return;
    }
    this.world.current = this;
    action();
  }

  /**
   * Runs the action after `ms` of the monotonic clock: whole ms and a little late, like timers of
   * Node.
   */
  timer(ms: number, action: () => void): { cancel(): void } {
    const { machine, world } = this;
    const dueAt = machine.monotonic() + Math.max(1, Math.trunc(ms));
    let isCancelled = false;
    const fire = () => {
      if (isCancelled) return;
      const leftMs = dueAt - machine.monotonic();
      if (leftMs > 1e-6) scheduled = world.after(leftMs / machine.rate, wake);
      else action();
    };
    const wake = () => this.deliver(fire, true);
    const jitterMs = world.random.around(lateMs);
    let scheduled = world.after((dueAt - machine.monotonic()) / machine.rate + jitterMs, wake);
    return {
      cancel: () => {
        isCancelled = true;
        scheduled.isCancelled = true;
      },
    };
  }

  pause(): void {
    this.#pauseCount += 1;
    if (this.#pauseCount === 1) this.#pausedAt = this.world.now;
  }

  resume(): void {
    this.#pauseCount -= 1;
    if (this.#pauseCount > 0 || this.isDead) return;
    this.machine.stoppedMs += this.world.now - this.#pausedAt;
    const isTimersFirst = this.world.random.chance(0.5);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const first of [isTimersFirst, !isTimersFirst]) {
      for (const { isTimer, action } of waiting) {
        if (isTimer === first) this.world.after(0, () => this.deliver(action, isTimer));
      }
    }
  }

  /** Nothing of it runs any more. */
  die(): void {
    if (this.isDead) return;
    this.isDead = true;
    this.machine.processes.delete(this);
    for (const tell of this.#onDeath) tell();
  }

  onDeath(tell: () => void): void {
    this.#onDeath.push(tell);
  }
}
