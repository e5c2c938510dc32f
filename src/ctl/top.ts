// `redlockctl top`: the masters, and the table of `list` with the longest queues first, refreshed
// once a second until q is pressed. It changes nothing. Locks are read a little at a time: each
// step is one page of SCAN and at most a hundred locks on every master. Those on the screen are
// read in every step, the others in turn, which takes minutes for ten thousand locks.

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
import { batchSize, MasterQuery } from './master-query.ts';

/** How a master answered, for people. */
interface MasterAnswer {
  readonly name: string;
  readonly answer: string;
  readonly isFailed: boolean;
}

/** The locks that are known, kept up to date step by step. */
export class Watch {
  readonly #query: MasterQuery;
  readonly #pattern: string;
  /** By master, how far its keys have been scanned: those of locks and of freezes by turns. */
  readonly #scans: { readonly cursor: string; readonly isOfFreezes: boolean }[];
  /** By name, the one that was read longest ago first; null: not read yet. */
  readonly #locks = new Map<string, LockState | null>();

  constructor(query: MasterQuery, pattern = '*') {
    this.#query = query;
    this.#pattern = pattern;
    this.#scans = query.servers.map(() => ({ cursor: '0', isOfFreezes: false }));
  }

  /** How many names are known, read or not. */
  get knownCount(): number {
    return this.#locks.size;
  }

  /** Those with most waiters first, then those that are not simply held, then by name. */
  get locks(): LockState[] {
    const rank = ({ state }: LockState) => (state === 'held' ? 1 : 0);
    return [...this.#locks.values()]
      .filter((lock) => lock !== null)
      .sort(
        (a, b) =>
          b.queue.length - a.queue.length || rank(a) - rank(b) || (a.name < b.name ? -1 : 1),
      );
  }

  /** Reads the locks on the screen and some others. */
  async step(onScreen: readonly string[]): Promise<MasterAnswer[]> {
    this.#query.reset();
    const scanning = this.#query.ask((server) => this.#scan(server));
    if (this.#locks.size === 0) await scanning; // No name is known yet.
    const names = [...new Set([...onScreen, ...this.#locks.keys()])].slice(0, batchSize);
    const [tripTimes, locks] = await Promise.all([scanning, this.#query.look(names)]);
    for (const lock of locks) {
      this.#locks.delete(lock.name);
      const isReleased = lock.state === 'free' && lock.queue.length === 0;
      if (!isReleased) this.#locks.set(lock.name, lock);
    }
    return this.#query.servers.map(({ name }, at) => {
      const tripMs = tripTimes[at] ?? 0;
      return typeof tripMs === 'number'
        ? { name, answer: `${tripMs.toFixed(1)} ms`, isFailed: false }
        : { name, answer: failureLine(tripMs), isFailed: true };
    });
  }

  /** Adds the names of the next page. Returns how long the master took, in ms. */
  async #scan(server: MasterQuery['servers'][number]) {
    const at = this.#query.servers.indexOf(server);
    const { cursor = '0', isOfFreezes = false } = this.#scans[at] ?? {};
    const sentAt = performance.now();
    const page = await server.page(isOfFreezes ? 'freezes' : 'locks', cursor, this.#pattern);
    if (isFailed(page)) return page;
    const isOver = page.cursor === '0';
    this.#scans[at] = { cursor: page.cursor, isOfFreezes: isOver !== isOfFreezes };
    for (const name of page.resources) if (!this.#locks.has(name)) this.#locks.set(name, null);
    return performance.now() - sentAt;
  }
}

/** What is on the screen. */
interface View {
  readonly lines: readonly TonedLine[];
  /** How many locks are on it. */
  readonly lockCount: number;
}

/** `offset`: how many locks are above the first one that is shown. */
export function renderTop(
  masters: readonly MasterAnswer[],
  { locks, knownCount }: Pick<Watch, 'locks' | 'knownCount'>,
  offset: number,
  { columns, rows }: { readonly columns: number; readonly rows: number },
): View {
  const quorum = quorumOf(masters.length);
  const waitingCount = locks.reduce((sum, { queue }) => sum + queue.length, 0);
  const set = `redlockctl top  ${masters.length} masters, quorum ${quorum}  `;
  const counts = `${plural(knownCount, 'lock')}, ${waitingCount} waiting`;
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
  const shown = `  ${offset + 1} to ${offset + lockCount} of ${knownCount}`;
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
    { text: `q quits${knownCount > lockCount ? keys : ''}`, tone: 'dim' },
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

export async function top({
  args,
  settings,
  clock,
  environment,
  openScreen,
}: Call): Promise<number> {
  if (openScreen === null)
    throw new UsageError(
      'top: no terminal (redlockctl list prints once, status --watch again and again)',
    );
  const query = await MasterQuery.of(settings, clock);
  const watch = new Watch(query, args.operands[0]);
  const paint = mayColour(true, environment) ? painted : ({ text }: TonedLine) => text;
  const screen = await openScreen();
  const quit = new AbortController();
  // Ends even a step in which a frozen master is awaited.
  const quits = new Promise<null>((resolve) =>
    quit.signal.addEventListener('abort', () => resolve(null)),
  );
  let masters: readonly MasterAnswer[] | null = [];
  let offset = 0;
  let lockCount = 0;
  const draw = (answers: readonly MasterAnswer[]) => {
    offset = Math.max(0, Math.min(offset, watch.locks.length - lockCount));
    const view = renderTop(answers, watch, offset, screen);
    lockCount = view.lockCount;
    screen.draw(view.lines.map(paint));
  };
  screen.onKey((key) => {
    if (key === 'q') return quit.abort();
    const by = movedBy(key, lockCount);
    if (by === 0 || !masters?.length) return;
    offset += by;
    draw(masters);
  });
  try {
    while (!quit.signal.aborted) {
      const onScreen = watch.locks.slice(offset, offset + lockCount).map(({ name }) => name);
      masters = await Promise.race([watch.step(onScreen), quits]);
      if (masters === null) break;
      draw(masters);
      await clock.sleep(everyMs, quit.signal);
    }
  } finally {
    screen.close();
    query.close();
  }
  return exitCode.ok;
}
