// Counting and killing, where the machine does not play along: it cannot be read, never settles, or does not kill.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import type { Clock } from '../../../../src/lock/ports.ts';
import type { Census, ProcessEntry } from '../../../../src/run/tree/census.ts';
import { processTable } from '../../../../src/run/tree/process-table.ts';
import { countAlive, killTree } from '../../../../src/run/tree/sweep.ts';
import { Tree } from '../../../../src/run/tree/tree.ts';
import { createSystemClock } from '../../../../src/system-clock.ts';

/** Above all that a machine may have. */
const nobody = 2 ** 22 + 12_345;
const ours: ProcessEntry = {
  pid: nobody,
  parent: 1,
  group: 1,
  session: 1,
  startedAt: 5,
  found: ['run'],
  isBlank: false,
};

/** A tree on a machine that shows these, one after the other, and then the last for ever. */
function treeOf(...censuses: (Census | Error)[]) {
  let count = 0;
  const read = () => {
    const census = censuses[Math.min(count, censuses.length - 1)];
    count += 1;
    if (census instanceof Error) throw census;
    return census as Census;
  };
  const tree = new Tree({ read, startedAt: () => 0 }, 'run', 1);
  return { tree, readCount: () => count };
}

const none: Census = { entries: [], isSettled: true };
const unsettled: Census = { entries: [], isSettled: false };
const one: Census = { entries: [ours], isSettled: true };
const unreadable = new Error('EMFILE');

it.each<[string, (Census | Error)[], number, number]>([
  ['nobody, after two whole looks', [none], 0, 2],
  ['somebody, at once', [one], 1, 1],
  ['somebody who was missed first', [none, one], 1, 2],
  ['nobody, after looks that were not whole', [unsettled, none, unsettled, none, none], 0, 5],
  ['nobody, when no look is ever whole', [unsettled], 0, 10],
  ['nobody, when it could not look first', [unreadable, none], 0, 3],
  ['somebody, when it can never look', [unreadable], 1, 10],
])('counts %s', (_title, censuses, expected, looks) => {
  const { tree, readCount } = treeOf(...censuses);
  expect([countAlive(tree), readCount()]).toEqual([expected, looks]);
});

function fakeClock(): Clock {
  let at = 0;
  return {
    now: () => at,
    sleep: async (ms) => {
      at += ms;
    },
  };
}

it('looks three times, a little apart, before it says that nobody is left', async () => {
  const clock = fakeClock();
  const { tree, readCount } = treeOf(one, none);
  expect(await killTree(tree, clock)).toEqual([]);
  expect(readCount()).toBe(4);
  expect(clock.now()).toBe(61);
});

it('begins anew when somebody turns up', async () => {
  const { tree, readCount } = treeOf(none, none, one, none);
  await killTree(tree, fakeClock());
  expect(readCount()).toBe(6);
});

it('waits while it cannot look', async () => {
  const { tree, readCount } = treeOf(unreadable, unreadable, none);
  expect(await killTree(tree, fakeClock())).toEqual([]);
  expect(readCount()).toBe(5);
});

it('gives up on who does not die within ten seconds, and tells', async () => {
  const clock = fakeClock();
  const { tree, readCount } = treeOf(one);
  expect(await killTree(tree, clock)).toEqual([nobody]);
  expect(clock.now()).toBeGreaterThan(10_000);
  expect(clock.now()).toBeLessThan(11_000);
  expect(readCount()).toBeLessThan(500); // It costs no core.
});

it('kills real processes: a stopped one, one that ignores signals, and their children', async () => {
  const script = "trap '' TERM; sleep 600 & sh -c 'kill -STOP $$' & echo ready; wait";
  const env = { ...process.env, REDLOCK_RUN_IDS: 'unit-sweep' };
  const child = spawn('sh', ['-c', script], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  const tree = new Tree(processTable, 'unit-sweep', process.pid);
  expect(countAlive(tree)).toBeGreaterThanOrEqual(2);
  expect(await killTree(tree, createSystemClock())).toEqual([]);
  expect(countAlive(tree)).toBe(0);
});
