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
  /**
   * Counts time asleep. null: it cannot be read now; or there is none, as on macOS and Windows,
   * which count it as monotonic time.
   */
  boot(): number | null;
  wall(): number;
}

/**
 * Bun, in the standalone executable, counts whole seconds, each of which would look like a sleep.
 */
const uptimeSeconds = process.versions.bun ? uptimeOfProc : os.uptime;

/** null where /proc does not show it. */
function uptimeOfProc(): number | null {
  try {
    return Number.parseFloat(readFileSync('/proc/uptime', 'latin1'));
  } catch {
    return null;
  }
}

function bootMs(): number | null {
  const seconds = uptimeSeconds();
  return seconds === null ? null : seconds * 1000;
}

export const systemSources: ClockSources = {
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  boot: process.platform === 'linux' ? bootMs : () => null,
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
  { monotonic, wall, boot }: ClockSources,
  timerMs: number,
): Clock {
  const jumps = [jumpsOf(wall, monotonic), jumpsOf(boot, monotonic)];
  /** Each reads the clock, and ends its sleep if that is over. */
  const looks = new Set<() => void>();
  let aheadMs = 0;

  function now(): number {
    const jumpMs = Math.max(...jumps.map((jump) => jump()));
    aheadMs += jumpMs;
    const instant = monotonic() + aheadMs;
    if (jumpMs > 0) {
      onJump(jumpMs);
      queueMicrotask(lookAtAll);
    }
    return instant;
  }

  /** The clock has jumped, which the timers did not notice. */
  function lookAtAll(): void {
    for (const look of [...looks]) look();
  }

  function sleep(durationMs: number, cancelled?: AbortSignal): Promise<void> {
    if (cancelled?.aborted || durationMs <= 0) return Promise.resolve();
    const wakeAt = now() + durationMs;
    return new Promise((resolve) => {
      const startTimer = (ms: number) => setTimeout(look, Math.min(Math.ceil(ms), timerMs));
      const look = () => {
        clearTimeout(timer);
        const leftMs = wakeAt - now();
        if (leftMs <= 0) return end();
        timer = startTimer(leftMs);
      };
      const end = () => {
        clearTimeout(timer);
        looks.delete(look);
        cancelled?.removeEventListener('abort', end);
        resolve();
      };
      let timer = startTimer(durationMs);
      looks.add(look);
      cancelled?.addEventListener('abort', end, { once: true });
    });
  }

  return { now, sleep };
}

/**
 * Returns by how many ms a clock has run ahead of the monotonic one since the last call; 0 within
 * the tolerance, and while that clock cannot be read: a job may unmount /proc.
 */
function jumpsOf(read: () => number | null, monotonic: () => number): () => number {
  /** The known difference, at most; a larger lead is a jump. */
  let knownLeadMs = (read() ?? Number.POSITIVE_INFINITY) - monotonic();
  return () => {
    // Read between two monotonic readings, so that a preemption here does not look like a jump.
    const before = monotonic();
    const reading = read();
    if (reading === null) return 0;
    const minMs = reading - monotonic();
    knownLeadMs = Math.min(knownLeadMs, reading - before);
    const jumpMs = minMs - knownLeadMs;
    if (jumpMs <= toleranceMs) return 0;
    knownLeadMs = minMs;
    return jumpMs;
  };
}

// An instant as two processes of one machine can compare it: its reading on three clocks. The first
// clock that reaches it counts, so neither a machine that slept nor a message that was read late
// makes it later.

/** In ns; null for a clock that this process cannot read as the guard does. */
export type Clocks = readonly [monotonic: bigint | null, boot: bigint | null, wall: bigint];

const nsPerMs = 1_000_000;

export function clocksNow(): Clocks {
  // Bun counts its monotonic clock from the start of the process.
  const monotonic = process.versions.bun ? null : process.hrtime.bigint();
  const boot = systemSources.boot();
  return [monotonic, boot === null ? null : nsOf(boot), nsOf(Date.now())];
}

function nsOf(ms: number): bigint {
  return BigInt(Math.floor(ms * nsPerMs));
}

/** The instant this long after `now`, on each clock: the first one to reach it counts. */
export function instantAfter(now: Clocks, ms: number): string {
  const passing = nsOf(ms);
  return now.map((clock) => (clock === null ? '-' : String(clock + passing))).join(',');
}

/** How long ago an instant was, at least, in ms. */
export function msSince(instant: string): number {
  const then = instant.split(',').map(BigInt);
  const passed = clocksNow().flatMap((clock, index) => {
    const before = then[index];
    return clock === null || before === undefined ? [] : [Number(clock - before) / nsPerMs];
  });
  return Math.max(0, Math.min(...passed));
}
