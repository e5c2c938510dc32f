// An instant as two processes of one machine can compare it: its reading on three clocks. The first
// clock that reaches it counts, so neither a machine that slept nor a message that was read late
// makes it later.

import { systemSources } from './clock.ts';

/** In ns; null for a clock that this process cannot read as the guard does. */
export type Clocks = readonly [monotonic: bigint | null, boot: bigint | null, wall: bigint];

const nsPerMs = 1_000_000;

export function clocksNow(): Clocks {
  // Bun counts its monotonic clock from the start of the process.
  const monotonic = process.versions.bun ? null : process.hrtime.bigint();
  const boot = systemSources.boot();
  return [monotonic, boot === null || Number.isNaN(boot) ? null : nsOf(boot), nsOf(Date.now())];
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
