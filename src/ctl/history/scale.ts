// From instants to pixels, and the ticks of the axis. Pure. Ticks are at round times of the local
// day.

import { localOf, midnightBefore } from './local-time.ts';

export interface Tick {
  readonly at: number;
  readonly label: string;
  /** The date, where it differs from that of the tick before; null: the same, or in the label. */
  readonly day: string | null;
}

export interface Scale {
  readonly fromMs: number;
  readonly toMs: number;
  readonly x: (ms: number) => number;
  readonly ticks: readonly Tick[];
}

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000] as const;
const steps = [
  ...[1, 2, 5, 10, 30].map((count) => count * second),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 6, 12].map((count) => count * hour),
  ...[1, 2, 7, 14].map((count) => count * day),
];
const mostTicks = 12;

/** `left` and `right` in pixels. */
export function scaleOf(firstMs: number, lastMs: number, left: number, right: number): Scale {
  const spanMs = Math.max(lastMs - firstMs, 10 * second);
  const [fromMs, toMs] = [firstMs - spanMs * 0.02, firstMs + spanMs * 1.02];
  const x = (ms: number) => left + ((ms - fromMs) / (toMs - fromMs)) * (right - left);
  return { fromMs, toMs, x, ticks: ticksIn(fromMs, toMs) };
}

function ticksIn(fromMs: number, toMs: number): Tick[] {
  // Months; for longer spans several months, so that there are at most `mostTicks`.
  const longStepMs = 30 * day * Math.ceil((toMs - fromMs) / mostTicks / (30 * day));
  const stepMs = steps.find((step) => (toMs - fromMs) / step <= mostTicks) ?? longStepMs;
  const start = midnightBefore(fromMs);
  const ticks: Tick[] = [];
  let lastDay = '';
  for (let at = start + Math.ceil((fromMs - start) / stepMs) * stepMs; at <= toMs; at += stepMs) {
    const local = localOf(at);
    if (stepMs >= day) ticks.push({ at, label: local.day, day: null });
    else {
      const label = stepMs < minute ? local.time : local.time.slice(0, 5);
      ticks.push({ at, label, day: local.day === lastDay ? null : local.day });
    }
    lastDay = local.day;
  }
  return ticks;
}
