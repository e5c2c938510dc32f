// `redlockctl top`: locks, holders, wait queues and masters, refreshed once a second until q is
// pressed. It changes nothing. Locks are read a little at a time: each step is one page of SCAN and
// at most a hundred locks on every master. Those on the screen are read in every step, the others
// in turn, which takes minutes for ten thousand locks. q ends it at once, even while a frozen
// master is awaited.

import { Chalk } from 'chalk';
import { mayColour } from '../../cli/stderr.ts';
import { quorumOf } from '../../lock/quorum.ts';
import type { Failed } from '../../lock/types.ts';
import { isFailed } from '../../redis/errors.ts';
import { exitCode, UsageError } from '../../text/errors.ts';
import type { Call } from '../call.ts';
import type { LockState } from '../lock-state.ts';
import { MasterQuery } from '../master-query.ts';
import {
  type DashboardLine,
  inOrder,
  type MasterLine,
  renderDashboard,
  roomFor,
  type Tone,
} from './dashboard.ts';

/** Locks that one step reads: as many as one request of MasterQuery. */
const mostLooks = 100;
const pageSize = 1_000;

/** Through the keys of one master. */
interface Walk {
  readonly cursor: string;
  readonly isOfFreezes: boolean;
}

const start: Walk = { cursor: '0', isOfFreezes: false };

export class Watch {
  readonly #query: MasterQuery;
  readonly #walks: Walk[];
  readonly #locks = new Map<string, LockState | null>();
  /** The index of the next name among those that are not on the screen. */
  #next = 0;

  constructor(query: MasterQuery) {
    this.#query = query;
    this.#walks = query.observers.map(() => start);
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
    const names = [...onScreen, ...this.#others(onScreen)].slice(0, mostLooks);
    const [answers, locks] = await Promise.all([paging, this.#query.look(names)]);
    for (const lock of locks) {
      const isReleased = lock.state === 'free' && lock.queue.length === 0;
      if (isReleased) this.#locks.delete(lock.name);
      else this.#locks.set(lock.name, lock);
    }
    return this.#query.observers.map(({ name }, at) => {
      const answer = answers[at];
      if (answer === undefined || isFailed(answer))
        return { name, answer: { message: answer?.message ?? 'no answer' } };
      return { name, answer: { tripMs: answer.tripMs } };
    });
  }

  #page(): Promise<({ tripMs: number } | Failed)[]> {
    return this.#query.ask(async (observer) => {
      const at = this.#query.observers.indexOf(observer);
      const sentAt = performance.now();
      // Frozen locks have keys of another form. They are walked through in turn with the others.
      const { cursor, isOfFreezes } = this.#walks[at] ?? start;
      const page = isOfFreezes
        ? await observer.freezePage(cursor, '*', pageSize)
        : await observer.page(cursor, '*', pageSize);
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
    const room = Math.max(0, mostLooks - onScreen.length);
    const from = this.#next >= names.length ? 0 : this.#next;
    this.#next = from + room;
    return names.slice(from, from + room);
  }
}

const everyMs = 1_000;
const ctrlC = '\x03';

export async function top({ settings, clock, openScreen }: Call): Promise<number> {
  if (openScreen === null)
    throw new UsageError(
      'top: no terminal (redlockctl list prints once, status --watch again and again)',
    );
  const query = await MasterQuery.of(settings, clock);
  const watch = new Watch(query);
  const paint = painter();
  const screen = await openScreen();
  const quit = new AbortController();
  const quits = new Promise<null>((resolve) =>
    quit.signal.addEventListener('abort', () => resolve(null)),
  );
  screen.onKey((key) => {
    if (key === 'q' || key === 'Q' || key === ctrlC) quit.abort();
  });
  try {
    let masters: MasterLine[] | null = [];
    while (!quit.signal.aborted) {
      const room = roomFor(query.observers.length, screen.rows);
      const onScreen = inOrder(watch.locks).slice(0, room);
      masters = await Promise.race([watch.step(onScreen.map(({ name }) => name)), quits]);
      if (masters === null) break;
      const dashboard = {
        now: new Date(),
        masters,
        quorum: quorumOf(masters.length),
        locks: watch.locks,
        knownCount: watch.knownCount,
      };
      screen.draw(renderDashboard(dashboard, screen.columns, screen.rows).map(paint));
      await clock.sleep(everyMs, quit.signal);
    }
  } finally {
    screen.close();
    query.close();
  }
  return exitCode.ok;
}

function painter(): (line: DashboardLine) => string {
  const chalk = new Chalk(mayColour(true, process.env) ? {} : { level: 0 });
  const paints: Readonly<Record<Tone, (text: string) => string>> = {
    title: chalk.bold,
    head: chalk.bold,
    plain: (text) => text,
    bad: chalk.red,
    doubtful: chalk.yellow,
    dim: chalk.dim,
  };
  return ({ text, tone }) => paints[tone](text);
}
