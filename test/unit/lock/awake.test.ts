// A wait in the time that this process ran: each part that passes is one part, however late its
// timer comes, and what has arrived in the meantime is read before the next.

import { expect, it } from 'vitest';
import { sleepAwake } from '../../../src/lock/ports.ts';
import { HandClock } from '../hand-clock.ts';

function begin(durationMs: number) {
  const clock = new HandClock();
  const answered = new AbortController();
  const waiting = { clock, answered, isOver: false };
  void sleepAwake(clock, durationMs, answered.signal).then(() => {
    waiting.isOver = true;
  });
  return waiting;
}

it('takes as long as it was told to, and a turn more to read in', async () => {
  const waiting = begin(2_000);
  await waiting.clock.moveTo(2_000);
  expect(waiting.isOver).toBe(false);
  await waiting.clock.moveTo(2_010);
  expect(waiting.isOver).toBe(true);
});

it('counts a time in which this process did not run as a part, however long it was', async () => {
  const waiting = begin(2_000);
  await waiting.clock.moveTo(100);
  await waiting.clock.leapTo(60_000);
  await waiting.clock.moveTo(61_500);
  expect(waiting.isOver).toBe(false);
  await waiting.clock.moveTo(62_000);
  expect(waiting.isOver).toBe(true);
});

it('is over at once when it is cancelled', async () => {
  const waiting = begin(2_000);
  await waiting.clock.moveTo(300);
  waiting.answered.abort();
  await waiting.clock.moveTo(310);
  expect(waiting.isOver).toBe(true);
});
