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
  /** null or absent: none. */
  readonly alarm?: Alarm | null;
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

export const systemSources: ClockSources = {
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  boot: process.platform === 'linux' ? () => uptimeSeconds() * 1000 : () => null,
  wall: () => Date.now(),
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

/**
 * `onJump` is called with the ms by which another clock ran ahead of the monotonic one: the machine
 * slept, or its time was set.
 */
export function createSystemClock(
  onJump: (ms: number) => void = () => {},
  sources = systemSources,
): Clock {
  let aheadMs = 0;
  const wall = new OtherClock(sources.wall, sources.monotonic);
  const boot = new OtherClock(sources.boot, sources.monotonic);
  /** What looks whether a sleep is over, and when it is. */
  const sleeps = new Map<() => void, number>();
  const setAlarm = sources.alarm?.(lookAtAll);
  const longestMs = setAlarm ? longestAlarmedMs : longestTimerMs;

  function now(): number {
    const jumpMs = Math.max(wall.jumpMs(), boot.jumpMs());
    aheadMs += jumpMs;
    const instant = sources.monotonic() + aheadMs;
    if (jumpMs > 0) {
      onJump(jumpMs);
      queueMicrotask(lookAtAll);
    }
    return instant;
  }

  function sleep(durationMs: number, cancelled?: AbortSignal): Promise<void> {
    if (cancelled?.aborted || durationMs <= 0) return Promise.resolve();
    const wakeAt = now() + durationMs;
    return new Promise((resolve) => {
      let timer = startTimer(durationMs);
      sleeps.set(look, wakeAt);
      setNextAlarm();
      cancelled?.addEventListener('abort', end, { once: true });
      function startTimer(ms: number): NodeJS.Timeout {
        return setTimeout(look, Math.min(Math.ceil(ms), longestMs));
      }
      function look(): void {
        clearTimeout(timer);
        const leftMs = wakeAt - now();
        if (leftMs <= 0) return end();
        timer = startTimer(leftMs);
      }
      function end(): void {
        clearTimeout(timer);
        sleeps.delete(look);
        setNextAlarm();
        cancelled?.removeEventListener('abort', end);
        resolve();
      }
    });
  }

  /** Called by the alarm, and where the clock has jumped: the timers did not notice. */
  function lookAtAll(): void {
    for (const look of [...sleeps.keys()]) look();
    setNextAlarm();
  }

  function setNextAlarm(): void {
    if (sleeps.size === 0) return setAlarm?.(null);
    const leftMs = Math.min(...sleeps.values()) - sources.monotonic() - aheadMs;
    setAlarm?.(Math.min(Math.max(0, leftMs), longestMs) + alarmAfterMs);
  }

  return { now, sleep };
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
