// The Clock of the real machine. Not for telling the time of day. Node's monotonic clock stands
// still while a Linux machine sleeps, but Redis goes on expiring, so this one adds whatever the
// boot-time clock or the wall clock ran ahead of it meanwhile. A wall clock set forward by hand
// costs validity for the same reason: pessimism is the safe side.

import { readFileSync } from 'node:fs';
import os from 'node:os';
import type { Clock } from './lock/ports.ts';

/** Readings of one instant, all in ms; only their progress means anything. */
export interface ClockSources {
  monotonic(): number;
  /** Counts time asleep; null where the system offers none (macOS and Windows count it in the monotonic clock). */
  boot(): number | null;
  wall(): number;
}

/** Bun, in the standalone executable, counts whole seconds; every second would look as if the machine had slept. */
const uptimeSeconds = process.versions.bun ? uptimeOfProc : os.uptime;

/** NaN where /proc does not tell it. */
function uptimeOfProc(): number {
  try {
    return Number.parseFloat(readFileSync('/proc/uptime', 'latin1'));
  } catch {
    return Number.NaN;
  }
}

const systemSources: ClockSources = {
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  boot: process.platform === 'linux' ? () => uptimeSeconds() * 1000 : () => null,
  wall: () => Date.now(),
};

/** The clocks of the machine as they stand now; comparable with the readings of any other process on it. */
export function readingsNow(): { monotonic: number; boot: number | null; wall: number } {
  return {
    monotonic: systemSources.monotonic(),
    boot: systemSources.boot(),
    wall: systemSources.wall(),
  };
}

/** Below the grain of os.uptime (10 ms) and the jitter of reading one clock after another, nothing has happened. */
const toleranceMs = 20;
/** Timers do not run while the machine sleeps, so no sleep of ours is trusted for longer than this. */
const longestTimerMs = 250;

/**
 * `onJump` is told in ms when another clock ran ahead of the monotonic one: the machine slept, or somebody set its time.
 */
export function createSystemClock(
  onJump: (ms: number) => void = () => {},
  sources = systemSources,
): Clock {
  let aheadMs = 0;
  const wall = new OtherClock(sources.wall, sources.monotonic);
  const boot = new OtherClock(sources.boot, sources.monotonic);

  function now(): number {
    const jumpMs = Math.max(wall.jumpMs(), boot.jumpMs());
    aheadMs += jumpMs;
    const instant = sources.monotonic() + aheadMs;
    if (jumpMs > 0) onJump(jumpMs);
    return instant;
  }

  function sleep(durationMs: number, cancelled?: AbortSignal): Promise<void> {
    if (cancelled?.aborted || durationMs <= 0) return Promise.resolve();
    const wakeAt = now() + durationMs;
    return new Promise((resolve) => {
      let timer = setTimeout(look, timerMs(durationMs));
      cancelled?.addEventListener('abort', end, { once: true });
      function look(): void {
        const leftMs = wakeAt - now();
        if (leftMs <= 0) return end();
        timer = setTimeout(look, timerMs(leftMs));
      }
      function end(): void {
        clearTimeout(timer);
        cancelled?.removeEventListener('abort', end);
        resolve();
      }
    });
  }

  return { now, sleep };
}

/** A clock that may run ahead of the monotonic one; one that this system does not have never does. */
class OtherClock {
  readonly #read: () => number | null;
  readonly #monotonic: () => number;
  /** How far ahead it may have been all along. */
  #knownLeadMs: number;

  constructor(read: () => number | null, monotonic: () => number) {
    this.#read = read;
    this.#monotonic = monotonic;
    this.#knownLeadMs = (read() ?? Number.NaN) - monotonic();
  }

  /** By how much it has run ahead since it was last asked; 0 for less than can be told. */
  jumpMs(): number {
    if (Number.isNaN(this.#knownLeadMs)) return 0;
    // Read between two monotonic readings, so that being preempted here looks like no jump in either direction.
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

function timerMs(leftMs: number): number {
  return Math.min(Math.ceil(leftMs), longestTimerMs);
}
