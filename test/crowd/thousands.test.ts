// Ten thousand unrelated idle processes that start after the command, and nine busy ones for each
// core: a lock of four seconds is extended, and its command has ended before the next holder
// starts.

import { afterEach, expect, it } from 'vitest';
import { gatherCrowd, handOver } from '../supervision/crowd.ts';
import { linesOf, sharedMasters } from '../supervision/rig.ts';

let disperse = async () => {};
afterEach(() => disperse(), 60_000);

async function arrival(): Promise<void> {
  disperse = await gatherCrowd(10_000, 9);
}

const options = { retry: 0 };

it('an undisturbed command runs to its end, its lock extended', options, async () => {
  const { gapMs, first } = await handOver(await sharedMasters(), null, arrival);
  expect([first.code, linesOf(first)]).toEqual([0, []]);
  expect(gapMs).toBeGreaterThan(0);
});

it.each(['SIGKILL', 'SIGSTOP'] as const)('%s of redlock-run', options, async (signal) => {
  const { gapMs } = await handOver(await sharedMasters(), signal, arrival);
  process.stderr.write(`  ${signal}: ${Math.round(gapMs)} ms between the two commands\n`);
  expect(gapMs).toBeGreaterThan(0);
});
