// The Clock of the real machine. Not for telling the time of day. The surprise: Node's monotonic clock stands still while a
// Linux machine sleeps, but Redis goes on expiring, so this one adds whatever the boot-time clock or the wall clock ran
// ahead of it meanwhile. A wall clock set forward by hand costs validity for the same reason: pessimism is the safe side.

import { readFileSync } from 'node:fs';
import os from 'node:os';
import type { Cancelled, Clock } from './lock/ports.ts';

/** Readings of one instant, all in ms; only their progress means anything. */
export interface ClockSources {
  monotonic(): number;
  /** Counts time asleep; null where the system offers none (macOS and Windows count it in the monotonic clock). */
  boot(): number | null;
  wall(): number;
}

/** Bun, in the standalone executable, counts whole seconds; every second would look as if the machine had slept. */
const uptimeSeconds = process.versions.bun
  ? () => Number.parseFloat(readFileSync('/proc/uptime', 'latin1'))
  : os.uptime;

const systemSources: ClockSources = {
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  boot: process.platform === 'linux' ? () => uptimeSeconds() * 1000 : () => null,
  wall: () => Date.now(),
};

/** The clocks of the machine as they stand now; comparable with the readings of any other process on it. */
export function readingsNow(): { monotonic: number; boot: number | null; wall: number } {
  return { monotonic: systemSources.monotonic(), boot: systemSources.boot(), wall: systemSources.wall() };
}

/** Below the grain of os.uptime (10 ms) and the jitter of reading one clock after another, nothing has happened. */
const toleranceMs = 20;
/** Timers do not run while the machine sleeps, so no sleep of ours is trusted for longer than this. */
const longestTimerMs = 250;

/**
 * `onJump` is told in ms when another clock ran ahead of the monotonic one: the machine slept, or somebody set its time.
 */
export function createSystemClock(onJump: (ms: number) => void = () => {}, sources = systemSources): Clock {
  let aheadMs = 0;
  const others = [sources.boot, sources.wall].map((read) => {
    const reading = read();
    return { read, lead: reading === null ? null : reading - sources.monotonic() };
  });

  function now(): number {
    let jumpMs = 0;
    for (const other of others) {
      if (other.lead === null) continue;
      // Read between two monotonic readings, so that being preempted here looks like no jump in either direction.
      const before = sources.monotonic();
      const reading = other.read() ?? 0;
      const least = reading - sources.monotonic();
      const most = reading - before;
      if (most < other.lead) other.lead = most;
      if (least - other.lead > toleranceMs) {
        jumpMs = Math.max(jumpMs, least - other.lead);
        other.lead = least;
      }
    }
    aheadMs += jumpMs;
    const instant = sources.monotonic() + aheadMs;
    if (jumpMs > 0) onJump(jumpMs);
    return instant;
  }

  async function sleep(durationMs: number, cancelled?: Cancelled): Promise<void> {
    if (cancelled?.aborted) return;
    const wakeAt = now() + durationMs;
    for (let leftMs = durationMs; leftMs > 0; leftMs = wakeAt - now()) {
      await timer(Math.min(Math.ceil(leftMs), longestTimerMs), cancelled);
      if (cancelled?.aborted) return;
    }
  }

  return { now, sleep };
}

function timer(durationMs: number, cancelled?: Cancelled): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(handle);
      cancelled?.removeEventListener('abort', end);
      resolve();
    };
    const handle = setTimeout(end, durationMs);
    cancelled?.addEventListener('abort', end, { once: true });
  });
}
