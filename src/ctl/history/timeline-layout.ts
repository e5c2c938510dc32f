// The layout of the timeline: from instants to pixels, with ticks at round times of the local day,
// and a lane for each host, with as many rows as it takes for bars and texts not to overlap. Pure.
// The width of a text is a generous estimate.

import { printable } from '../../text/foreign-text.ts';
import { localOf, midnightBefore } from '../../text/time.ts';
import { endOf, type PastRun, startOf } from './run-history.ts';
import { type Kind, kindOf, reasonOf } from './run-text.ts';

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

/** In pixels. */
export interface Bar {
  readonly run: PastRun;
  readonly kind: Kind;
  readonly row: number;
  /** Where it began to try, acquired the lock, and ended. */
  readonly beganX: number;
  readonly acquiredX: number;
  readonly endX: number;
  readonly text: string;
  readonly textX: number;
  readonly anchor: 'start' | 'end';
}

export interface HostRows {
  readonly host: string;
  readonly rows: number;
  readonly bars: readonly Bar[];
}

const leastBarPx = 4;
const markPx = 9;
const gapPx = 6;
const charPx = 7.6;

/** One lane for each host, sorted by name. `nowMs`: where a run that has not ended is cut. */
export function hostRowsOf(
  runs: readonly PastRun[],
  scale: Scale,
  nowMs: number,
  withNames: boolean,
): HostRows[] {
  const runsOf = new Map<string, PastRun[]>();
  for (const run of runs) {
    const ofHost = runsOf.get(run.host) ?? [];
    ofHost.push(run);
    runsOf.set(run.host, ofHost);
  }
  const right = scale.x(scale.toMs);
  return [...runsOf.keys()].sort().map((host) => {
    const ends: number[] = [];
    const bars: Bar[] = [];
    const inOrder = (runsOf.get(host) ?? []).sort((a, b) => startOf(a) - startOf(b));
    for (const run of inOrder) {
      const { from, to, ...bar } = placed(run, scale, nowMs, right, withNames);
      const free = ends.findIndex((end) => end <= from);
      const row = free < 0 ? ends.length : free;
      ends[row] = to;
      bars.push({ ...bar, row });
    }
    return { host, rows: ends.length, bars };
  });
}

function placed(run: PastRun, scale: Scale, nowMs: number, right: number, withNames: boolean) {
  const kind = kindOf(run);
  const beganX = scale.x(startOf(run));
  const acquiredX = scale.x(startOf(run) + run.waitMs);
  const endX = Math.max(
    scale.x(Math.min(endOf(run), nowMs)),
    acquiredX + (kind === 'missed' ? 0 : leastBarPx),
  );
  const what = printable(withNames ? run.name : run.label, 40);
  const isInside = kind === 'done' && what.length * charPx + 8 <= endX - acquiredX;
  const whatDone = isInside || withNames ? what : '';
  const whole = kind === 'done' ? whatDone : `${what}: ${reasonOf(run)}`;
  const edge = kind === 'missed' ? endX + markPx : endX;
  const start = kind === 'missed' ? Math.min(beganX, endX - markPx) : beganX;
  const [roomRight, roomLeft] = [right - edge - gapPx, start - gapPx - scale.x(scale.fromMs)];
  const isRight = isInside || whole.length * charPx <= roomRight || roomRight >= roomLeft;
  const mostChars = Math.floor((isRight ? roomRight : roomLeft) / charPx);
  const text =
    isInside || whole.length <= mostChars ? whole : printable(whole, Math.max(0, mostChars - 3));
  const widthPx = isInside ? 0 : gapPx + text.length * charPx;
  const outsideX = isRight ? edge + gapPx : start - gapPx;
  return {
    run,
    kind,
    beganX,
    acquiredX,
    endX,
    text,
    textX: isInside ? acquiredX + 4 : outsideX,
    anchor: isRight ? ('start' as const) : ('end' as const),
    from: isRight ? start : start - widthPx,
    to: (isRight ? edge + widthPx : edge) + gapPx,
  };
}
