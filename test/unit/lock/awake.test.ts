// Patience in the time that this process ran: each part that passes is one part, however late its
// timer comes, and what has arrived in the meantime is read before the next.

import { expect, it } from 'vitest';
import { sleepAwake } from '../../../src/lock/awake.ts';
import { HandClock } from '../hand-clock.ts';

function begin(durationMs: number) {
  const clock = new HandClock();
  const answered = new AbortController();
  const patience = { clock, answered, isOver: false };
  void sleepAwake(clock, durationMs, answered.signal).then(() => {
    patience.isOver = true;
  });
  return patience;
}

it('takes as long as it was told to, and a turn more to read in', async () => {
  const patience = begin(2_000);
  await patience.clock.moveTo(2_000);
  expect(patience.isOver).toBe(false);
  await patience.clock.moveTo(2_010);
  expect(patience.isOver).toBe(true);
});

it('counts a time in which this process did not run as a part, however long it was', async () => {
  const patience = begin(2_000);
  await patience.clock.moveTo(100);
  await patience.clock.leapTo(60_000);
  await patience.clock.moveTo(61_500);
  expect(patience.isOver).toBe(false);
  await patience.clock.moveTo(62_000);
  expect(patience.isOver).toBe(true);
});

it('is over at once when it is cancelled', async () => {
  const patience = begin(2_000);
  await patience.clock.moveTo(300);
  patience.answered.abort();
  await patience.clock.moveTo(310);
  expect(patience.isOver).toBe(true);
});
