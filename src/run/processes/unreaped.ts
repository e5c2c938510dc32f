// The children of a guard that stands still and have ended: it reaps none of them, so there may be
// thousands, below a chain of forks. To read them all in every look would keep redlock-run from its
// lock for seconds. One that has ended stays what it is until its parent reaps it, and a parent
// that has not run has reaped none, so each is read once.

import { type ProcessEntry, pauseOf, processEntry } from './process-table.ts';

export class Unreaped {
  #parent: number | null = null;
  /** Of the parent, at the last look; null: it runs. */
  #pause: string | null = null;
  readonly #entries = new Map<number, ProcessEntry>();

  /** To be called in each look, before the children of the parent are listed; null: it is gone. */
  look(parent: number | null): void {
    const pause = parent === null ? null : pauseOf(parent);
    if (pause === null || pause !== this.#pause) this.#entries.clear();
    this.#parent = parent;
    this.#pause = pause;
  }

  /** As processEntry(), for any process. */
  entryOf(pid: number): ProcessEntry | null {
    const known = this.#entries.get(pid);
    if (known) return known;
    const entry = processEntry(pid);
    const isUnreaped = entry?.isAlive === false && entry.parent === this.#parent;
    if (isUnreaped && this.#pause !== null) this.#entries.set(pid, entry);
    return entry;
  }
}
