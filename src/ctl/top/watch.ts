// The names that top knows and the state of some of them, learned a little at a time: each step is one page of SCAN and one look at no more than a
// hundred locks on every master. It draws nothing. The surprise: with ten thousand locks a round takes minutes; those on the screen are
// looked at in every step, the others in turn.

import type { Failed } from '../../lock/types.ts';
import { isFailed } from '../../redis/trouble.ts';
import { withEndings } from '../history/endings.ts';
import type { LockState } from '../lock-state.ts';
import type { MasterQuery } from '../survey.ts';
import type { MasterLine } from './board.ts';

/** What one step looks at: see Survey, which reads so many in one go. */
const mostLooks = 100;
const pageSize = 1_000;

export class Watch {
  readonly #survey: MasterQuery;
  readonly #cursors: string[];
  readonly #locks = new Map<string, LockState | null>();
  /** Where the turn is among the names that are not on the screen. */
  #turn = 0;

  constructor(survey: MasterQuery) {
    this.#survey = survey;
    this.#cursors = survey.observers.map(() => '0');
  }

  get knownCount(): number {
    return this.#locks.size;
  }

  get locks(): LockState[] {
    return [...this.#locks.values()].filter((lock) => lock !== null);
  }

  /** Looks at the names on the screen, also whether their runs have ended, and at some others. Returns how each master answered. */
  async step(onScreen: readonly string[]): Promise<MasterLine[]> {
    this.#survey.forgive();
    const paging = this.#page();
    if (this.#locks.size === 0) await paging; // Nobody is known yet.
    const names = [...onScreen, ...this.#others(onScreen)].slice(0, mostLooks);
    const [answers, locks] = await Promise.all([paging, this.#survey.look(names)]);
    const shown = await withEndings(this.#survey, locks.slice(0, onScreen.length));
    for (const lock of [...shown, ...locks.slice(onScreen.length)]) {
      const isGone = lock.state === 'free' && lock.queue.length === 0;
      if (isGone) this.#locks.delete(lock.name);
      else this.#locks.set(lock.name, lock);
    }
    return this.#survey.observers.map(({ name }, at) => {
      const answer = answers[at];
      if (answer === undefined || isFailed(answer))
        return { name, answer: { message: answer?.message ?? 'no answer' } };
      return { name, answer: { tripMs: answer.tripMs } };
    });
  }

  #page(): Promise<({ tripMs: number } | Failed)[]> {
    return this.#survey.ask(async (observer) => {
      const at = this.#survey.observers.indexOf(observer);
      const sentAt = performance.now();
      const page = await observer.page(this.#cursors[at] ?? '0', '*', pageSize);
      if (isFailed(page)) return page;
      this.#cursors[at] = page.cursor;
      for (const name of page.resources) if (!this.#locks.has(name)) this.#locks.set(name, null);
      return { tripMs: performance.now() - sentAt };
    });
  }

  #others(onScreen: readonly string[]): string[] {
    const names = [...this.#locks.keys()].filter((name) => !onScreen.includes(name));
    const room = Math.max(0, mostLooks - onScreen.length);
    const from = this.#turn >= names.length ? 0 : this.#turn;
    this.#turn = from + room;
    return names.slice(from, from + room);
  }
}
