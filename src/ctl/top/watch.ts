// The locks that `top` knows, read a little at a time: each step is one page of SCAN and at most a
// hundred locks on every master. Locks on the screen are read in every step, the others in turn,
// which takes minutes for ten thousand locks.

import type { Failed } from '../../lock/types.ts';
import { isFailed } from '../../redis/errors.ts';
import { withEndings } from '../history/ended-runs.ts';
import type { LockState } from '../lock-state.ts';
import type { MasterQuery } from '../master-query.ts';
import type { MasterLine } from './dashboard.ts';

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
    const shown = await withEndings(this.#query, locks.slice(0, onScreen.length));
    for (const lock of [...shown, ...locks.slice(onScreen.length)]) {
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
