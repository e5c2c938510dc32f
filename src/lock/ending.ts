// That something is over: an AbortController for what never leaves our own code. The surprise: it is here for its price alone. A real
// one, aborted with a listener, takes 10 microseconds, and a lock needs half a dozen of them in each of its two rounds; the first
// of a program takes a hundred, which is when a lock is handed over.

import type { Cancelled } from './ports.ts';

const none: readonly never[] = [];

export class Ending implements Cancelled {
  #isOver = false;
  #listeners: readonly (() => void)[] = none;

  get aborted(): boolean {
    return this.#isOver;
  }

  /** Calls every listener once, in the order in which they came; a second call does nothing. */
  abort(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const listeners = this.#listeners;
    this.#listeners = none;
    for (const listener of listeners) listener();
  }

  addEventListener(_kind: 'abort', listener: () => void): void {
    this.#listeners = [...this.#listeners, listener];
  }

  removeEventListener(_kind: 'abort', listener: () => void): void {
    if (this.#listeners.length > 0) this.#listeners = this.#listeners.filter((other) => other !== listener);
  }
}
