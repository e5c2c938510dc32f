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
  /** null: none. */
  readonly alarm: Alarm | null;
}

/**
 * A timer of the kernel that counts the time in which the machine sleeps. It calls `onRing` once,
 * so many ms after it was set last; after a sleep over that instant, at once. null: never.
 */
export type Alarm = (onRing: () => void) => (afterMs: number | null) => void;

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

/** Those of any program, which has no alarm. */
export const systemSources: ClockSources = {
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  boot: process.platform === 'linux' ? () => uptimeSeconds() * 1000 : () => null,
  wall: () => Date.now(),
  alarm: null,
};

/** The present readings of the machine's clocks; every process on it can compare them. */
export function readingsNow(): { monotonic: number; boot: number | null; wall: number } {
  return {
    monotonic: systemSources.monotonic(),
    boot: systemSources.boot(),
    wall: systemSources.wall(),
  };
}

/**
 * Smaller jumps are the grain of os.uptime (10 ms), or the time between the readings of two clocks.
 */
const toleranceMs = 20;
/**
 * Timers do not run while the machine sleeps, so without an alarm a longer sleep is made of several
 * ones.
 */
const longestTimerMs = 250;
/** With an alarm: of what setTimeout can do. */
const longestAlarmedMs = 2 ** 31 - 1;
/** So long after the end of a sleep its alarm rings, unless a timer was there to end it. */
const alarmAfterMs = 50;

/** The clock of a program that tells of no jump, and does without an alarm. */
export function createPlainClock(): Clock {
  return createSystemClock(() => {}, systemSources);
}

/**
 * `onJump` is called with the ms by which another clock ran ahead of the monotonic one: the machine
 * slept, or its time was set.
 */
export function createSystemClock(onJump: (ms: number) => void, sources: ClockSources): Clock {
  return new SystemClock(onJump, sources);
}

class SystemClock implements Clock {
  readonly #onJump: (ms: number) => void;
  readonly #monotonic: () => number;
  readonly #wall: OtherClock;
  readonly #boot: OtherClock;
  readonly #setAlarm: ReturnType<Alarm> | null;
  readonly #longestMs: number;
  /** What looks whether a sleep is over, and when it is. */
  readonly #sleeps = new Map<() => void, number>();
  #aheadMs = 0;

  constructor(onJump: (ms: number) => void, { monotonic, wall, boot, alarm }: ClockSources) {
    this.#onJump = onJump;
    this.#monotonic = monotonic;
    this.#wall = new OtherClock(wall, monotonic);
    this.#boot = new OtherClock(boot, monotonic);
    this.#setAlarm = alarm?.(() => this.#lookAtAll()) ?? null;
    this.#longestMs = this.#setAlarm ? longestAlarmedMs : longestTimerMs;
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
      const startTimer = (ms: number) => setTimeout(look, Math.min(Math.ceil(ms), this.#longestMs));
      const look = () => {
        clearTimeout(timer);
        const leftMs = wakeAt - this.now();
        if (leftMs <= 0) return end();
        timer = startTimer(leftMs);
      };
      const end = () => {
        clearTimeout(timer);
        this.#sleeps.delete(look);
        this.#setNextAlarm();
        cancelled?.removeEventListener('abort', end);
        resolve();
      };
      let timer = startTimer(durationMs);
      this.#sleeps.set(look, wakeAt);
      this.#setNextAlarm();
      cancelled?.addEventListener('abort', end, { once: true });
    });
  }

  /** Called by the alarm, and where the clock has jumped: the timers did not notice. */
  #lookAtAll(): void {
    for (const look of [...this.#sleeps.keys()]) look();
    this.#setNextAlarm();
  }

  #setNextAlarm(): void {
    if (this.#sleeps.size === 0) return this.#setAlarm?.(null);
    const leftMs = Math.min(...this.#sleeps.values()) - this.#monotonic() - this.#aheadMs;
    this.#setAlarm?.(Math.min(Math.max(0, leftMs), this.#longestMs) + alarmAfterMs);
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
    const leastMs = reading - this.#monotonic();
    this.#knownLeadMs = Math.min(this.#knownLeadMs, reading - before);
    const jumpMs = leastMs - this.#knownLeadMs;
    if (jumpMs <= toleranceMs) return 0;
    this.#knownLeadMs = leastMs;
    return jumpMs;
  }
}
