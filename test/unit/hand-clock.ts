// A clock that is moved by hand, in steps of 10 ms, for tests of what is decided by time.

import type { Clock } from '../../src/lock/ports.ts';

export class HandClock implements Clock {
  #now = 0;
  readonly #sleepers = new Set<() => void>();

  now(): number {
    return this.#now;
  }

  async sleep(durationMs: number, cancelled?: AbortSignal): Promise<void> {
    const wakeAt = this.#now + durationMs;
    while (this.#now < wakeAt && !cancelled?.aborted) {
      await new Promise<void>((resolve) => {
        const wake = () => {
          cancelled?.removeEventListener('abort', wake);
          resolve();
        };
        this.#sleepers.add(wake);
        cancelled?.addEventListener('abort', wake);
      });
    }
  }

  async moveTo(at: number): Promise<void> {
    while (this.#now < at) await this.leapTo(Math.min(at, this.#now + 10));
  }

  /** In one step: to the process it looks as if it had been suspended. */
  async leapTo(at: number): Promise<void> {
    this.#now = at;
    for (const wake of this.#sleepers) wake();
    this.#sleepers.clear();
    await settled();
  }
}

/** Resolves when everything that was ready to run has run. */
export const settled = () => new Promise((resolve) => setImmediate(resolve));
