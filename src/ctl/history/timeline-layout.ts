// The layout of the timeline: from instants to pixels, with ticks at round times of the local day,
// and a lane for what operators did and for each host, with as many rows as it takes for bars and
// texts not to overlap. Pure. The width of a text is a generous estimate.

import { printable } from '../../text/foreign-text.ts';
import { localOf, midnightBefore } from '../../text/time.ts';
import { endOf, type PastAct, type PastRun, startOf } from './run-history.ts';
import { actTextOf, type Kind, kindOf, reasonOf } from './run-text.ts';

/** What a picture is drawn in, in pixels. */
export interface Frame {
  readonly width: number;
  /** Where the bars are. */
  readonly left: number;
  readonly right: number;
  readonly maxTicks: number;
  /** The title, and the name of a host, are above what they name, and not beside it. */
  readonly isNarrow: boolean;
}

export const frames = {
  wide: { width: 1_200, left: 170, right: 1_180, maxTicks: 12, isNarrow: false },
  narrow: { width: 368, left: 14, right: 354, maxTicks: 4, isNarrow: true },
} as const satisfies Readonly<Record<string, Frame>>;

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

export function scaleOf(
  firstMs: number,
  lastMs: number,
  { left, right, maxTicks }: Pick<Frame, 'left' | 'right' | 'maxTicks'>,
): Scale {
  const spanMs = Math.max(lastMs - firstMs, 10 * second);
  const [fromMs, toMs] = [firstMs - spanMs * 0.02, firstMs + spanMs * 1.02];
  const x = (ms: number) => left + ((ms - fromMs) / (toMs - fromMs)) * (right - left);
  return { fromMs, toMs, x, ticks: ticksIn(fromMs, toMs, maxTicks) };
}

function ticksIn(fromMs: number, toMs: number, maxTicks: number): Tick[] {
  // Months; for longer spans several months, so that there are at most `maxTicks`.
  const longStepMs = 30 * day * Math.ceil((toMs - fromMs) / maxTicks / (30 * day));
  const stepMs = steps.find((step) => (toMs - fromMs) / step <= maxTicks) ?? longStepMs;
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

/** In pixels: a row of its lane, and the text beside what is drawn there. */
interface Labelled {
  readonly row: number;
  readonly text: string;
  readonly textX: number;
  readonly anchor: 'start' | 'end';
}

export interface Bar extends Labelled {
  readonly run: PastRun;
  readonly kind: Kind;
  /** Where it began to try, acquired the lock, and ended. */
  readonly beganX: number;
  readonly acquiredX: number;
  readonly endX: number;
}

/** What an operator did; a freeze that was thawed, or is still in force, has an end as well. */
export interface Mark extends Labelled {
  readonly act: PastAct;
  readonly atX: number;
  readonly endX: number | null;
}

export interface HostRows {
  readonly host: string;
  readonly rows: number;
  readonly bars: readonly Bar[];
}

const minBarPx = 4;
const markPx = 9;
const gapPx = 6;
const charPx = 7.6;
const minChars = 8;

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
  return [...runsOf.keys()].sort().map((host) => {
    const inOrder = (runsOf.get(host) ?? []).sort((a, b) => startOf(a) - startOf(b));
    const { rows, items } = inRows(inOrder.map((run) => placed(run, scale, nowMs, withNames)));
    return { host, rows, bars: items };
  });
}

/** `standing`: the tokens of the freezes that bar new runs at this moment. */
export function marksOf(
  acts: readonly PastAct[],
  standing: ReadonlySet<string>,
  scale: Scale,
  nowMs: number,
  withNames: boolean,
): { readonly rows: number; readonly marks: readonly Mark[] } {
  const timesOf = (kind: PastAct['act']) =>
    new Map(acts.flatMap(({ act, token, at }) => (act === kind ? [[token, Date.parse(at)]] : [])));
  const [frozenAt, thawedAt] = [timesOf('freeze'), timesOf('thaw')];
  const { rows, items } = inRows(
    acts.flatMap((act) => {
      if (act.act === 'thaw' && frozenAt.has(act.token)) return [];
      const atX = scale.x(Date.parse(act.at));
      // The end of a freeze that has run out by itself is in no history.
      const endMs = thawedAt.get(act.token) ?? (standing.has(act.token) ? nowMs : null);
      const isSpan = act.act === 'freeze' && endMs !== null;
      const endX = isSpan ? Math.max(scale.x(endMs), atX + minBarPx) : null;
      const what = withNames ? `${printable(act.name, 40)}: ` : '';
      const whole = `${what}${actTextOf(act)}`;
      const side =
        inside(whole, atX, endX ?? atX, scale) ??
        beside(whole, atX - markPx, endX ?? atX + markPx, scale);
      return [{ act, atX, endX, ...side }];
    }),
  );
  return { rows, marks: items };
}

/** The first row that is free for each. */
function inRows<Item extends { readonly from: number; readonly to: number }>(
  items: readonly Item[],
): { readonly rows: number; readonly items: readonly (Item & { readonly row: number })[] } {
  const ends: number[] = [];
  const placedItems = items.map((item) => {
    const free = ends.findIndex((end) => end <= item.from);
    const row = free < 0 ? ends.length : free;
    ends[row] = item.to;
    return { ...item, row };
  });
  return { rows: ends.length, items: placedItems };
}

function placed(run: PastRun, scale: Scale, nowMs: number, withNames: boolean) {
  const kind = kindOf(run);
  const beganX = scale.x(startOf(run));
  const acquiredX = scale.x(startOf(run) + (run.waitMs ?? 0));
  const endX = Math.max(
    scale.x(Math.min(endOf(run), nowMs)),
    acquiredX + (kind === 'missed' ? 0 : minBarPx),
  );
  const what = printable(withNames ? run.name : run.label, 40);
  const isInside = kind === 'done' && what.length * charPx + 8 <= endX - acquiredX;
  const edge = kind === 'missed' ? endX + markPx : endX;
  const start = kind === 'missed' ? Math.min(beganX, endX - markPx) : beganX;
  const shown = { run, kind, beganX, acquiredX, endX };
  if (isInside) {
    const inside = { text: what, textX: acquiredX + 4, anchor: 'start' as const };
    return { ...shown, ...inside, from: start, to: edge + gapPx };
  }
  const whatDone = withNames ? what : '';
  const whole = kind === 'done' ? whatDone : `${what}: ${reasonOf(run)}`;
  return { ...shown, ...beside(whole, start, edge, scale) };
}

/** The text in a shape, where it fits or has more room than beside it; null: it does not. */
function inside(whole: string, start: number, edge: number, scale: Scale) {
  const room = edge - start - 8;
  const { roomLeft, roomRight } = roomBeside(start, edge, scale);
  if (whole.length * charPx > room && room < Math.max(roomLeft, roomRight)) return null;
  const anchor = 'start' as const;
  return { text: cutTo(whole, room), textX: start + 4, anchor, from: start, to: edge + gapPx };
}

function roomBeside(start: number, edge: number, scale: Scale) {
  const roomRight = scale.x(scale.toMs) - edge - gapPx;
  return { roomRight, roomLeft: start - gapPx - scale.x(scale.fromMs) };
}

/** Nothing where there is room for a few letters only. */
function cutTo(whole: string, roomPx: number): string {
  const maxChars = Math.floor(roomPx / charPx);
  if (whole.length <= maxChars) return whole;
  return maxChars < minChars ? '' : printable(whole, maxChars - 3);
}

/** The text on that side of a shape that has room for it, and what both take. */
function beside(whole: string, start: number, edge: number, scale: Scale) {
  const { roomLeft, roomRight } = roomBeside(start, edge, scale);
  const isRight = whole.length * charPx <= roomRight || roomRight >= roomLeft;
  const text = cutTo(whole, isRight ? roomRight : roomLeft);
  const widthPx = gapPx + text.length * charPx;
  return {
    text,
    textX: isRight ? edge + gapPx : start - gapPx,
    anchor: isRight ? ('start' as const) : ('end' as const),
    from: isRight ? start : start - widthPx,
    to: (isRight ? edge + widthPx : edge) + gapPx,
  };
}
