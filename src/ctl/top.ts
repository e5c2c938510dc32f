// `redlockctl top`: the masters, and the table of `list` with the longest queues first, read again
// a second after it was drawn, until q is pressed. It changes nothing.

import { painted, type TonedLine } from '../cli/colour.ts';
import { fittedLines } from '../cli/rows.ts';
import { mayColour } from '../cli/stderr.ts';
import { renderTable } from '../cli/table.ts';
import { quorumOf } from '../lock/quorum.ts';
import { isFailed } from '../redis/errors.ts';
import { exitCode, UsageError } from '../text/errors.ts';
import { failureLine } from '../text/lines.ts';
import { plural } from '../text/plural.ts';
import type { Call } from './call.ts';
import { listLines } from './list.ts';
import type { LockState } from './lock-state.ts';
import { MasterQuery } from './master-query.ts';

/** What was read: how each master answered, and the locks in the order of the screen. */
interface Reading {
  readonly masters: readonly {
    readonly name: string;
    readonly answer: string;
    readonly isFailed: boolean;
  }[];
  readonly locks: readonly LockState[];
}

/** Locks with most waiters first, then those that are not simply held, then by name. */
export async function readTop(query: MasterQuery, pattern: string): Promise<Reading> {
  query.reset();
  const trips = await query.ask(async (server) => {
    const sentAt = performance.now();
    const page = await server.page('locks', '0', pattern);
    return isFailed(page) ? page : performance.now() - sentAt;
  });
  const rank = ({ state }: LockState) => (state === 'held' ? 1 : 0);
  const locks = (await query.look(await query.names(pattern)))
    .filter(({ state, queue }) => state !== 'free' || queue.length > 0)
    .sort(
      (a, b) => b.queue.length - a.queue.length || rank(a) - rank(b) || (a.name < b.name ? -1 : 1),
    );
  // After all has been read: a master may fail, or be cut off, at any page.
  const masters = query.failures().map((failure, at) => ({
    name: query.servers[at]?.name ?? '',
    answer: failure ? failureLine(failure) : `${Number(trips[at]).toFixed(1)} ms`,
    isFailed: failure !== null,
  }));
  return { masters, locks };
}

/**
 * The lines of the screen, and how many locks are on it; `offset`: how many are above the first one
 * that is shown.
 */
export function renderTop(
  { masters, locks }: Reading,
  offset: number,
  { columns, rows }: { readonly columns: number; readonly rows: number },
): { readonly lines: readonly TonedLine[]; readonly lockCount: number } {
  const quorum = quorumOf(masters.length);
  const waitingCount = locks.reduce((sum, { queue }) => sum + queue.length, 0);
  const set = `redlockctl top  ${masters.length} masters, quorum ${quorum}  `;
  const counts = `${plural(locks.length, 'lock')}, ${waitingCount} waiting`;
  const time = new Date().toTimeString().slice(0, 8);
  const answers = masters.map(({ name, answer }) => [name, answer]);
  const [, ...answerRows] = renderTable(['', ''], answers).trimEnd().split('\n');
  const room = Math.max(1, rows - masters.length - 5);
  const [head, ...body] = listLines(locks.slice(offset, offset + room), Math.floor(columns / 3));
  const table: TonedLine[] = [];
  let lockCount = 0;
  for (const line of body) {
    const lockRows = fittedLines([line], columns);
    if (lockCount > 0 && table.length + lockRows.length > room) break;
    table.push(...lockRows);
    lockCount += 1;
  }
  const isQuorum = masters.filter(({ isFailed }) => !isFailed).length >= quorum;
  const none = isQuorum ? 'no locks' : 'no quorum: too few masters answer';
  const shown = `  ${offset + 1} to ${offset + lockCount} of ${locks.length}`;
  const keys = `${shown}: arrows and page keys move (all: redlockctl list)`;
  const lines: TonedLine[] = [
    { text: `${columns < 60 ? '' : set}${counts}  ${time}`, tone: 'title' },
    ...answerRows.map((text, at): TonedLine => {
      return { text, tone: masters[at]?.isFailed ? 'bad' : 'plain' };
    }),
    { text: '', tone: 'plain' },
    lockCount > 0 && head ? head : { text: none, tone: 'head' },
    ...table,
    { text: '', tone: 'plain' },
    { text: `q quits${locks.length > lockCount ? keys : ''}`, tone: 'dim' },
  ];
  return {
    lines: lines.map((line) => ({ ...line, text: line.text.slice(0, columns) })),
    lockCount,
  };
}

/** How far a key moves the list of locks. */
function movedBy(key: string, pageLength: number): number {
  const moves: Readonly<Record<string, number>> = {
    up: -1,
    down: 1,
    pageup: -pageLength,
    pagedown: pageLength,
    space: pageLength,
    home: Number.NEGATIVE_INFINITY,
    end: Number.POSITIVE_INFINITY,
  };
  return moves[key] ?? 0;
}

const everyMs = 1_000;

export async function top(call: Call): Promise<number> {
  const { args, settings, clock, environment, interrupted, openScreen } = call;
  if (openScreen === null)
    throw new UsageError(
      'top: no terminal (redlockctl list prints once, status --watch again and again)',
    );
  const query = await MasterQuery.of(settings, clock);
  const paint = mayColour(true, environment) ? painted : ({ text }: TonedLine) => text;
  const screen = await openScreen();
  const quit = new AbortController();
  const over = AbortSignal.any([interrupted(), quit.signal]);
  // Ends even a reading in which a frozen master is awaited.
  const isOver = new Promise<null>((resolve) => {
    over.addEventListener('abort', () => resolve(null));
  });
  let reading: Reading | null = null;
  let offset = 0;
  let lockCount = 0;
  const draw = () => {
    if (reading === null) return;
    offset = Math.max(0, Math.min(offset, reading.locks.length - lockCount));
    const view = renderTop(reading, offset, screen);
    lockCount = view.lockCount;
    screen.draw(view.lines.map(paint));
  };
  screen.onKey((key) => {
    if (key === 'q') return quit.abort();
    if (reading !== null) offset += movedBy(key, lockCount);
    draw();
  });
  try {
    while (!over.aborted) {
      const beganAt = clock.now();
      const read = await Promise.race([readTop(query, args.name || '*'), isOver]);
      if (read === null) break;
      reading = read;
      draw();
      // Thousands of locks, which take seconds to read, are read at most half of the time.
      await clock.sleep(Math.max(everyMs, clock.now() - beganAt), over);
    }
  } finally {
    screen.close();
    query.close();
  }
  return exitCode.ok;
}
