// When the looks that send the stop signal end: where two agree, and in time for SIGKILL.

import { expect, it } from 'vitest';
import { StopOnce } from '../../../../src/run/processes/stop-once.ts';
import type { Found, TakeLook } from '../../../../src/run/processes/tree-look.ts';

const found: Found = { pid: 0, key: '', entry: null, parent: null };

/**
 * How many processes were seen in how many looks, at a tree of a thousand that is another one in so
 * many looks. No signal is sent.
 */
function looksAt(changeCount: number, eachMs: number, withinMs: number) {
  let [lookCount, seenCount] = [0, 0];
  const look: TakeLook = (_visit, isEnough = () => false) => {
    lookCount += 1;
    const keys = new Set<string>();
    for (let count = 0; count < 1_000 && !isEnough([]); count += 1) {
      keys.add(`${Math.min(lookCount, changeCount)}:${count}`);
      seenCount += 1;
      for (const endAt = performance.now() + eachMs; performance.now() < endAt; );
    }
    return { keys, living: [found] };
  };
  const command = { pid: 1, isForeground: true, hasNamespace: false };
  new StopOnce(command, look, () => []).stop('SIGTERM', false, withinMs);
  return { lookCount, seenCount };
}

it('fast ones go on until two agree', () => {
  expect(looksAt(4, 0, 60_000).lookCount).toBe(5);
});

it('a slow one ends long before SIGKILL is due, and no other begins', () => {
  const { lookCount, seenCount } = looksAt(Number.POSITIVE_INFINITY, 1, 200);
  expect(lookCount).toBe(1);
  expect(seenCount).toBeLessThan(100);
});
