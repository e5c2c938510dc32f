// Which states of a guard count as standing still, and for how long.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { GuardProcess } from '../../../../src/run/guard/guard-process.ts';
import { GuardWatch } from '../../../../src/run/guard/watch.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/**
 * Whether a guard that owes an answer is given up within so many seconds. `states`: a letter for
 * each of its threads.
 */
async function isLost(states: string, isStarting: boolean, isDeadlineOver: boolean, seconds = 30) {
  let isSilent = false;
  const watch = new GuardWatch({
    guard: {
      get state() {
        if (states === '') throw new Error('no descriptor is left to read it');
        return states.slice(0, 1);
      },
      isRunnable: states.includes('R'),
      unanswered: 3,
    } as GuardProcess,
    isStarting: () => isStarting,
    isDeadlineOver: () => isDeadlineOver,
    onLook: () => {},
    onSilent: () => {
      isSilent = true;
    },
  });
  watch.expectAnswers();
  await vi.advanceTimersByTimeAsync(seconds * 1_000);
  watch.end();
  return isSilent;
}

it.each([
  ['', false, true, false],
  ['RS', false, true, false],
  ['SR', false, true, false],
  ['S', false, false, true],
  ['S', true, true, false],
  ['D', false, false, false],
  ['D', false, true, true],
  ['D', true, true, false],
  ['T', true, false, true],
  ['Z', false, false, true],
])('in states %s, starting %s, deadline near %s: lost %s', async (states, starting, near, lost) => {
  expect(await isLost(states, starting, near)).toBe(lost);
});

it('is lost after three looks that agree, and not before', async () => {
  expect(await isLost('T', false, false, 1.5)).toBe(false);
  expect(await isLost('T', false, false, 2.5)).toBe(true);
});
