// On a machine with some hundred unrelated processes and no idle core, a lock of four seconds is
// extended, and its command has ended before the next holder starts. (Thousands:
// thousands.test.ts.)

import { afterAll, beforeAll, expect, it } from 'vitest';
import { gatherCrowd, handOver } from '../supervision/crowd.ts';
import { linesOf, sharedMasters } from '../supervision/rig.ts';

let disperse: () => Promise<void>;
beforeAll(async () => {
  disperse = await gatherCrowd(400, 1);
});
afterAll(() => disperse());

it.concurrent('an undisturbed command runs to its end, its lock extended', async () => {
  const { gapMs, first } = await handOver(await sharedMasters(), null);
  expect([first.code, linesOf(first)]).toEqual([0, []]);
  expect(gapMs).toBeGreaterThan(0);
});

const signals = ['SIGKILL', 'SIGSTOP'] as const;
it.concurrent.each(signals)('%s of redlock-run', async (signal) => {
  const { gapMs } = await handOver(await sharedMasters(), signal);
  expect(gapMs).toBeGreaterThan(0);
});
