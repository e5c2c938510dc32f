// A machine: three clocks that run at one rate, and may sleep. Processes run on it
// (sim-process.ts); it has no network. While it sleeps, the monotonic clock stands still, and boot
// time and the wall clock go on, as on Linux.

import type { ClockSources } from '../../src/system/clock.ts';
import type { SimProcess } from './sim-process.ts';
import type { World } from './world.ts';

/** A date, in ms; the clocks differ from it by their offsets. */
export const epochMs = 1_760_000_000_000;

export interface MachineClock {
  /** Ms of its clocks for each ms of true time. */
  readonly rate: number;
  readonly wallOffsetMs: number;
}

export class Machine implements ClockSources {
  readonly name: string;
  readonly world: World;
  readonly rate: number;
  readonly processes = new Set<SimProcess>();
  /** The true time for which it was stopped or asleep, for checkers of durations. */
  stoppedMs = 0;
  #wallOffsetMs: number;
  #sleptMs = 0;
  #asleepSince: number | null = null;

  constructor(world: World, name: string, clock: MachineClock) {
    this.world = world;
    this.name = name;
    this.rate = clock.rate;
    this.#wallOffsetMs = clock.wallOffsetMs;
  }

  readonly monotonic = (): number => {
    const awakeUntil = this.#asleepSince ?? this.world.now;
    return 1_000 + (awakeUntil - this.#sleptMs) * this.rate;
  };

  /** As the kernel has it. */
  get bootNow(): number {
    return 5_000 + this.world.now * this.rate;
  }

  /** In steps of 10 ms, as os.uptime gives it. */
  readonly boot = (): number => Math.floor(this.bootNow / 10) * 10;

  readonly wall = (): number =>
    Math.floor(epochMs + this.world.now * this.rate + this.#wallOffsetMs);

  get isAsleep(): boolean {
    return this.#asleepSince !== null;
  }

  stepWall(ms: number): void {
    this.world.note(this.name, `wall clock set by ${Math.round(ms)} ms`);
    this.#wallOffsetMs += ms;
  }

  sleep(): void {
    if (this.isAsleep) return;
    this.world.note(this.name, 'goes to sleep');
    this.world.mark('suspended');
    this.#asleepSince = this.world.now;
    for (const process of this.processes) process.pause();
  }

  wake(): void {
    if (this.#asleepSince === null) return;
    this.world.note(this.name, 'wakes up');
    this.#sleptMs += this.world.now - this.#asleepSince;
    this.#asleepSince = null;
    for (const process of this.processes) process.resume();
  }
}
