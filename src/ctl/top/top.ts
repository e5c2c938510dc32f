// `redlockctl top`: locks, holders, wait queues and masters, refreshed once a second until q is
// pressed. It changes nothing. Locks are read a little at a time: each step is one page of SCAN and
// at most a hundred locks on every master. Those on the screen are read in every step, the others
// in turn, which takes minutes for ten thousand locks. q ends it at once, even while a frozen
// master is awaited.

import { painted, type TonedLine } from '../../cli/colour.ts';
import { mayColour } from '../../cli/stderr.ts';
import { quorumOf } from '../../lock/quorum.ts';
import type { Failed } from '../../lock/types.ts';
import { isFailed } from '../../redis/errors.ts';
import { exitCode, UsageError } from '../../text/errors.ts';
import { failureLine } from '../../text/lines.ts';
import type { Call } from '../call.ts';
import type { LockState } from '../lock-state.ts';
import { batchSize, MasterQuery, pageSize } from '../master-query.ts';
import { inOrder, type MasterLine, movedBy, renderDashboard, roomFor } from './dashboard.ts';

/** Through the keys of one master. */
interface Walk {
  readonly cursor: string;
  readonly isOfFreezes: boolean;
}

const start: Walk = { cursor: '0', isOfFreezes: false };

export class Watch {
  readonly #query: MasterQuery;
  readonly #pattern: string;
  readonly #walks: Walk[];
  readonly #locks = new Map<string, LockState | null>();
  /** The index of the next name among those that are not on the screen. */
  #next = 0;

  constructor(query: MasterQuery, pattern = '*') {
    this.#query = query;
    this.#pattern = pattern;
    this.#walks = query.servers.map(() => start);
  }

  get knownCount(): number {
    return this.#locks.size;
  }

  get locks(): LockState[] {
    return [...this.#locks.values()].filter((lock) => lock !== null);
  }

  /** Reads the locks on the screen and some others. Returns how each master answered. */
  async step(onScreen: readonly string[]): Promise<MasterLine[]> {
    this.#query.reset();
    const paging = this.#page();
    if (this.#locks.size === 0) await paging; // No name is known yet.
    const names = [...onScreen, ...this.#others(onScreen)].slice(0, batchSize);
    const [answers, locks] = await Promise.all([paging, this.#query.look(names)]);
    for (const lock of locks) {
      const isReleased = lock.state === 'free' && lock.queue.length === 0;
      if (isReleased) this.#locks.delete(lock.name);
      else this.#locks.set(lock.name, lock);
    }
    return this.#query.servers.map(({ name }, at) => {
      const answer = answers[at];
      if (answer === undefined || isFailed(answer))
        return { name, answer: { message: answer ? failureLine(answer) : 'no answer' } };
      return { name, answer: { tripMs: answer.tripMs } };
    });
  }

  #page(): Promise<({ tripMs: number } | Failed)[]> {
    return this.#query.ask(async (server) => {
      const at = this.#query.servers.indexOf(server);
      const sentAt = performance.now();
      // Frozen locks have keys of another form. They are walked through in turn with the others.
      const { cursor, isOfFreezes } = this.#walks[at] ?? start;
      const page = isOfFreezes
        ? await server.freezePage(cursor, this.#pattern, pageSize)
        : await server.page(cursor, this.#pattern, pageSize);
      if (isFailed(page)) return page;
      const tripMs = performance.now() - sentAt;
      const isOver = page.cursor === '0';
      this.#walks[at] = { cursor: page.cursor, isOfFreezes: isOver !== isOfFreezes };
      for (const name of page.resources) if (!this.#locks.has(name)) this.#locks.set(name, null);
      return { tripMs };
    });
  }

  #others(onScreen: readonly string[]): string[] {
    const names = [...this.#locks.keys()].filter((name) => !onScreen.includes(name));
    const room = Math.max(0, batchSize - onScreen.length);
    const from = this.#next >= names.length ? 0 : this.#next;
    this.#next = from + room;
    return names.slice(from, from + room);
  }
}

const everyMs = 1_000;
const ctrlC = '\x03';

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
  const quits = new Promise<null>((resolve) =>
    quit.signal.addEventListener('abort', () => resolve(null)),
  );
  let offset = 0;
  let masters: MasterLine[] | null = [];
  const room = () => roomFor(query.servers.length, screen.columns, screen.rows);
  const draw = (lines: readonly MasterLine[]) => {
    const { locks, knownCount } = watch;
    offset = Math.max(0, Math.min(offset, locks.length - room()));
    const quorum = quorumOf(lines.length);
    const board = { now: new Date(), masters: lines, quorum, locks, knownCount, offset };
    screen.draw(renderDashboard(board, screen.columns, screen.rows).map(paint));
  };
  screen.onKey((key) => {
    if (key === 'q' || key === 'Q' || key === ctrlC) return quit.abort();
    const by = movedBy(key, room());
    if (by === null || !masters?.length) return;
    offset += by;
    draw(masters);
  });
  try {
    while (!quit.signal.aborted) {
      const onScreen = inOrder(watch.locks).slice(offset, offset + room());
      masters = await Promise.race([watch.step(onScreen.map(({ name }) => name)), quits]);
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
