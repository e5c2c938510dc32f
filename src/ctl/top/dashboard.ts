// The screen of `redlockctl top`: the masters, and as many locks as fit, those with waiters first.
// Pure.

import stringWidth from 'string-width';
import type { TonedLine } from '../../cli/colour.ts';
import { renderTable } from '../../cli/table.ts';
import { oneLine, printable, quoted } from '../../text/foreign-text.ts';
import { reasonBehind, roughly } from '../../text/lines.ts';
import { plural } from '../../text/plural.ts';
import { describeFreeze, type ShownFreeze } from '../holdings.ts';
import type { Holder, LockState } from '../lock-state.ts';
import { together, toneOf } from '../lock-text.ts';

export interface MasterLine {
  readonly name: string;
  /** How long its answer took, or why there is none. */
  readonly answer: { readonly tripMs: number } | { readonly message: string };
}

export interface Dashboard {
  /** The time of day, for the title. */
  readonly now: Date;
  readonly masters: readonly MasterLine[];
  readonly quorum: number;
  /** The locks that have been read. */
  readonly locks: readonly LockState[];
  /** How many names are known, read or not. */
  readonly knownCount: number;
  /** How many locks are above the first one that is shown. */
  readonly offset: number;
}

/** On a screen with fewer columns, the holder of a lock stands below it. */
const fewColumns = 60;

/** How many locks fit on a screen of this size, beside so many masters. */
export function roomFor(masterCount: number, columns: number, rows: number): number {
  const room = rows - masterCount - 5;
  return Math.max(1, columns < fewColumns ? Math.floor(room / 2) : room);
}

/** At most `rows` lines, none wider than `columns`. */
export function renderDashboard(dashboard: Dashboard, columns: number, rows: number): TonedLine[] {
  const { masters, quorum, knownCount, offset, now } = dashboard;
  const isNarrow = columns < fewColumns;
  const room = roomFor(masters.length, columns, rows);
  const locks = inOrder(dashboard.locks).slice(offset, offset + room);
  const waiting = dashboard.locks.reduce((sum, { queue }) => sum + queue.length, 0);
  const counts = `${plural(knownCount, 'lock')}, ${waiting} waiting`;
  const set = `${masters.length} masters, quorum ${quorum}`;
  const begin = isNarrow ? '' : `redlockctl top  ${set}  `;
  const title = `${begin}${counts}  ${clockTime(now)}`;
  const answers = masters.map(({ name, answer }) =>
    'message' in answer ? [name, answer.message] : [name, `${answer.tripMs.toFixed(1)} ms`],
  );
  const cells = locks.map((lock) => rowOf(lock, Math.floor(columns / 3), now.getTime()));
  const beside = isNarrow ? narrowHead.length : head.length;
  const table = renderTable(
    head.slice(0, beside),
    cells.map((row) => row.slice(0, beside)),
  );
  const belowOf = (at: number) => {
    const [held, holder] = (cells[at] ?? []).slice(-2);
    return isNarrow && holder ? [`    ${held ? `${held}: ` : ''}${holder}`] : [];
  };
  const [heading = '', ...body] = table.trimEnd().split('\n');
  const answeredCount = masters.filter((master) => !isSilent(master)).length;
  const none = answeredCount < quorum ? 'no quorum: too few masters answer' : 'no locks';
  const shown = `${offset + 1} to ${offset + locks.length} of ${knownCount}`;
  const hidden = `  ${shown}: arrows and page keys move (all: redlockctl list)`;
  const lines: TonedLine[] = [
    { text: title, tone: 'title' },
    ...renderTable(['MASTER', 'ANSWER'], answers)
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((text, at): TonedLine => ({ text, tone: isSilent(masters[at]) ? 'bad' : 'plain' })),
    { text: '', tone: 'plain' },
    { text: heading || none, tone: 'head' },
    ...body.flatMap((line, at) =>
      [line, ...belowOf(at)].map(
        (text): TonedLine => ({ text, tone: toneOf[locks[at]?.state ?? 'free'] }),
      ),
    ),
    { text: '', tone: 'plain' },
    { text: `q quits${knownCount > locks.length ? hidden : ''}`, tone: 'dim' },
  ];
  return lines.slice(0, rows).map(({ text, tone }) => ({ text: cut(text, columns), tone }));
}

/** How far a key moves the list of locks. `room`: how many are shown at once; null: not at all. */
export function movedBy(key: string, room: number): number | null {
  switch (key) {
    case '\x1b[A':
    case '\x1bOA':
      return -1;
    case '\x1b[B':
    case '\x1bOB':
      return 1;
    case '\x1b[5~':
      return -room;
    case '\x1b[6~':
    case ' ':
      return room;
    case '\x1b[H':
    case '\x1bOH':
    case '\x1b[1~':
      return Number.NEGATIVE_INFINITY;
    case '\x1b[F':
    case '\x1bOF':
    case '\x1b[4~':
      return Number.POSITIVE_INFINITY;
    default:
      return null;
  }
}

/** Most waiters first, then locks that are not simply held, then by name. */
export function inOrder(locks: readonly LockState[]): LockState[] {
  const rank = ({ state }: LockState) => (state === 'held' ? 1 : 0);
  return [...locks].sort(
    (a, b) => b.queue.length - a.queue.length || rank(a) - rank(b) || (a.name < b.name ? -1 : 1),
  );
}

/** The text, no wider than so many columns of a terminal. */
export function cut(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text;
  let kept = '';
  let width = 0;
  for (const character of text) {
    width += stringWidth(character);
    if (width >= columns) return `${kept}…`;
    kept += character;
  }
  return kept;
}

const narrowHead = ['NAME', 'STATE', 'VOTES', 'LEFT', 'WAIT'];
const head = [...narrowHead, 'FOR', 'HOLDER'];

function rowOf(
  { name, state, masters, sharing, slots, holders, remainingMs, queue, freeze }: LockState,
  nameWidth: number,
  nowMs: number,
): string[] {
  const [first] = holders;
  const isBarred = (first !== undefined || state === 'frozen') && state !== 'orphan';
  const left = remainingMs === null ? 'for ever' : roughly(remainingMs);
  const longest = queue[0] === undefined ? '' : `${queue.length}, ${roughly(queue[0].waitedMs)}`;
  const votes = `${(state === 'frozen' ? freeze : first)?.votes ?? 0}/${masters}`;
  const holder = sharing === 'exclusive' ? describe(first) : together({ sharing, slots, holders });
  return [
    cut(oneLine(name), nameWidth),
    state,
    votes,
    isBarred ? left : '',
    longest,
    heldFor(first ?? freeze, nowMs),
    freeze === null ? holder : withFreeze(holder, freeze),
  ];
}

/** Of a lock that is only frozen, the columns before show that it is, since when and until when. */
function withFreeze(holder: string, freeze: ShownFreeze): string {
  const { user, host, note } = freeze;
  if (holder !== '') return `${holder}; ${describeFreeze(freeze)}`;
  if (user === null || host === null || note === null) return describeFreeze(freeze);
  return `${printable(user)}@${printable(host)}: ${quoted(note)}`;
}

/** How long the lock has been held, by the clocks of the holder's host and of this one. */
function heldFor(holder: Pick<Holder, 'since'> | null, nowMs: number): string {
  const sinceMs = Date.parse(holder?.since ?? '');
  return Number.isNaN(sinceMs)
    ? ''
    : roughly(Math.max(0, Math.round((nowMs - sinceMs) / 1000) * 1000));
}

function describe(holder: Holder | undefined): string {
  if (holder === undefined) return '';
  if (holder.kind === 'redlock-run') {
    const { label, user, host, pid, endedAt } = holder;
    const run = `${label} ${user}@${host} ${pid}${reasonBehind(holder)}`;
    return endedAt === null ? run : `ended: ${run}`;
  }
  if (holder.kind !== 'string') return `another program: a ${holder.kind}`;
  return `another program: ${holder.token ?? 'a long value'}`;
}

function isSilent(master: MasterLine | undefined): boolean {
  return master !== undefined && 'message' in master.answer;
}

function clockTime(now: Date): string {
  return now.toTimeString().slice(0, 8);
}
