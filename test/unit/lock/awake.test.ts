// Patience in the time that this process ran: each part that passes is one part, however late its
// timer comes, and what has arrived in the meantime is read before the next.

import { expect, it } from 'vitest';
import { sleepAwake } from '../../../src/lock/awake.ts';
import type { Clock } from '../../../src/lock/ports.ts';

/** A clock whose timers fire when the test says so, as late as it likes. */
class HandClock implements Clock {
  readonly durations: number[] = [];
  #fire: (() => void) | null = null;

  now(): number {
    return 0;
  }

  sleep(durationMs: number, cancelled?: AbortSignal): Promise<void> {
    this.durations.push(durationMs);
    if (cancelled?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        cancelled?.removeEventListener('abort', end);
        resolve();
      };
      this.#fire = end;
      cancelled?.addEventListener('abort', end);
    });
  }

  /** The timer fires, and everything that waits for it goes on. */
  async fire(): Promise<void> {
    this.#fire?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function begin(durationMs: number) {
  const clock = new HandClock();
  const answered = new AbortController();
  const patience = { clock, answered, isOver: false };
  void sleepAwake(clock, durationMs, answered.signal).then(() => {
    patience.isOver = true;
  });
  return patience;
}

it('is not over when one timer has fired, however late', async () => {
  const patience = begin(2_000);
  await patience.clock.fire();
  expect(patience.isOver).toBe(false);
});

it('takes as long as it was told to, in parts, and a turn more to read in', async () => {
  const patience = begin(2_000);
  while (!patience.isOver) await patience.clock.fire();
  const { durations } = patience.clock;
  expect(durations.length).toBeGreaterThan(5);
  const totalMs = durations.reduce((sum, ms) => sum + ms, 0);
  expect(totalMs).toBeGreaterThan(2_000);
  expect(totalMs).toBeLessThan(2_010);
  // After the last long one there is a short one, in which an answer is read and cancels it.
  expect(durations.at(-1)).toBeLessThan(10);
});

it('is over at once when it is cancelled', async () => {
  const patience = begin(2_000);
  await patience.clock.fire();
  patience.answered.abort();
  await patience.clock.fire();
  expect(patience.isOver).toBe(true);
  expect(patience.clock.durations.length).toBeLessThan(5);
});
