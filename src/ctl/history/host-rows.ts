// The layout of the timeline: a lane for each host, with as many rows as it takes for bars and
// texts not to overlap. Pure. The width of a text is a generous estimate.

import { printable } from '../../text/printable.ts';
import { type Kind, kindOf, reasonOf } from './reason.ts';
import { endOf, type PastRun, startOf } from './run-history.ts';
import type { Scale } from './scale.ts';

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
  const whole = kind === 'done' ? (isInside || withNames ? what : '') : `${what}: ${reasonOf(run)}`;
  const edge = kind === 'missed' ? endX + markPx : endX;
  const start = kind === 'missed' ? Math.min(beganX, endX - markPx) : beganX;
  const [roomRight, roomLeft] = [right - edge - gapPx, start - gapPx - scale.x(scale.fromMs)];
  const isRight = isInside || whole.length * charPx <= roomRight || roomRight >= roomLeft;
  const mostChars = Math.floor((isRight ? roomRight : roomLeft) / charPx);
  const text =
    isInside || whole.length <= mostChars ? whole : printable(whole, Math.max(0, mostChars - 3));
  const widthPx = isInside ? 0 : gapPx + text.length * charPx;
  return {
    ...{ run, kind, beganX, acquiredX, endX, text },
    textX: isInside ? acquiredX + 4 : isRight ? edge + gapPx : start - gapPx,
    anchor: isRight ? ('start' as const) : ('end' as const),
    from: isRight ? start : start - widthPx,
    to: (isRight ? edge + widthPx : edge) + gapPx,
  };
}
