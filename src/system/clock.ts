// The Clock of the real machine, for elapsed time only. Node's monotonic clock stands still while a
// Linux machine sleeps, but Redis goes on expiring keys. So this clock adds what the boot-time
// clock or the wall clock ran ahead of the monotonic one. A wall clock that is set forward costs
// validity for the same reason, which is safe.

import { readFileSync } from 'node:fs';
import os from 'node:os';
import type { Clock } from '../lock/ports.ts';

/** Readings of one instant, all in ms; only their progress means anything. */
export interface ClockSources {
  monotonic(): number;
  /** Counts time asleep; null where there is none: macOS and Windows count it as monotonic time. */
  boot(): number | null;
  wall(): number;
}

/**
 * Bun, in the standalone executable, counts whole seconds, each of which would look like a sleep.
 */
const uptimeSeconds = process.versions.bun ? uptimeOfProc : os.uptime;

/** NaN where /proc does not show it. */
function uptimeOfProc(): number {
  try {
    return Number.parseFloat(readFileSync('/proc/uptime', 'latin1'));
  } catch {
    return Number.NaN;
  }
}

export const systemSources: ClockSources = {
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  boot: process.platform === 'linux' ? () => uptimeSeconds() * 1000 : () => null,
  wall: () => Date.now(),
};

/**
 * Smaller jumps are the grain of os.uptime (10 ms), or the time between the readings of two clocks.
 */
const toleranceMs = 20;
/**
 * Timers do not run while the machine sleeps, so a longer sleep is made of several ones. A process
 * that alone has to act in time reads the clock four times a second; one that holds a lock for
 * hours, once a second; one with a guard, whose timers do run on, more rarely.
 */
export const maxTimerMs = { alone: 250, staying: 1_000, guarded: 10_000 } as const;

/** The clock of a program that reports no jump. */
export function createPlainClock(): Clock {
  return createSystemClock(() => {}, systemSources, maxTimerMs.alone);
}

/**
 * `onJump` is called with the ms by which another clock ran ahead of the monotonic one: the machine
 * slept, or its time was set. `timerMs`: the longest timer.
 */
export function createSystemClock(
  onJump: (ms: number) => void,
  sources: ClockSources,
  timerMs: number,
): Clock {
  return new SystemClock(onJump, sources, timerMs);
}

class SystemClock implements Clock {
  readonly #onJump: (ms: number) => void;
  readonly #monotonic: () => number;
  readonly #wall: OtherClock;
  readonly #boot: OtherClock;
  readonly #timerMs: number;
  /** Each reads the clock, and ends its sleep if that is over. */
  readonly #sleeps = new Set<() => void>();
  #aheadMs = 0;

  constructor(
    onJump: (ms: number) => void,
    { monotonic, wall, boot }: ClockSources,
    timerMs: number,
  ) {
    this.#onJump = onJump;
    this.#monotonic = monotonic;
    this.#wall = new OtherClock(wall, monotonic);
    this.#boot = new OtherClock(boot, monotonic);
    this.#timerMs = timerMs;
  }

  now(): number {
    const jumpMs = Math.max(this.#wall.jumpMs(), this.#boot.jumpMs());
    this.#aheadMs += jumpMs;
    const instant = this.#monotonic() + this.#aheadMs;
    if (jumpMs > 0) {
      this.#onJump(jumpMs);
      queueMicrotask(() => this.#lookAtAll());
    }
    return instant;
  }

  sleep(durationMs: number, cancelled?: AbortSignal): Promise<void> {
    if (cancelled?.aborted || durationMs <= 0) return Promise.resolve();
    const wakeAt = this.now() + durationMs;
    return new Promise((resolve) => {
      const startTimer = (ms: number) => setTimeout(look, Math.min(Math.ceil(ms), this.#timerMs));
      const look = () => {
        clearTimeout(timer);
        const leftMs = wakeAt - this.now();
        if (leftMs <= 0) return end();
        timer = startTimer(leftMs);
      };
      const end = () => {
        clearTimeout(timer);
        this.#sleeps.delete(look);
        cancelled?.removeEventListener('abort', end);
        resolve();
      };
      let timer = startTimer(durationMs);
      this.#sleeps.add(look);
      cancelled?.addEventListener('abort', end, { once: true });
    });
  }

  /** The clock has jumped, which the timers did not notice. */
  #lookAtAll(): void {
    for (const look of [...this.#sleeps]) look();
  }
}

/** A clock that may run ahead of the monotonic one; never, where the system does not have it. */
class OtherClock {
  readonly #read: () => number | null;
  readonly #monotonic: () => number;
  /** The known difference to the monotonic clock, at most; a larger lead is a jump. */
  #knownLeadMs: number;

  constructor(read: () => number | null, monotonic: () => number) {
    this.#read = read;
    this.#monotonic = monotonic;
    this.#knownLeadMs = (read() ?? Number.NaN) - monotonic();
  }

  /** By how many ms it has run ahead since the last call; 0 within the tolerance. */
  jumpMs(): number {
    if (Number.isNaN(this.#knownLeadMs)) return 0;
    // Read between two monotonic readings, so that a preemption here does not look like a jump.
    const before = this.#monotonic();
    const reading = this.#read() ?? 0;
    const minMs = reading - this.#monotonic();
    this.#knownLeadMs = Math.min(this.#knownLeadMs, reading - before);
    const jumpMs = minMs - this.#knownLeadMs;
    if (jumpMs <= toleranceMs) return 0;
    this.#knownLeadMs = minMs;
    return jumpMs;
  }
}
