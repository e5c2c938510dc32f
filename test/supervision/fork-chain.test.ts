// Chains of processes, each of which starts the next one and ends within a millisecond, in sessions
// whose founders have ended: they end with the run, before the next holder starts.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { hasPerl } from '../servers/perl.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { fixture, Succession } from './next-holder.ts';
import { sharedMasters } from './rig.ts';

const masters = await sharedMasters();

const few = [
  ['forks', 'SIGTERM'],
  ['execs', 'SIGKILL'],
] as const;

it.skipIf(!hasPerl).concurrent.each(few)('one that %s: %s of redlock-run', async (way, signal) => {
  await endsInTime(1, way, signal);
});

it.skipIf(!hasPerl)('a dozen at a time: SIGKILL of redlock-run', async () => {
  await endsInTime(12, 'forks', 'SIGKILL');
});

async function endsInTime(count: number, way: string, signal: NodeJS.Signals): Promise<void> {
  const beats = join(mkdtempSync(join(scratchFolder(), 'chain-')), 'beats');
  writeFileSync(beats, '\n');
  const chain = `perl "${fixture('chain.pl')}" ${beats} ${way}`;
  const script = `for i in $(seq ${count}); do ${chain}; done; echo ready; exec sleep 120`;
  const looks = ['perl', fixture('heartbeat.pl'), 'look', beats];
  try {
    const run = new Succession(masters, (mark) => ['sh', '-c', script, mark], { looks });
    await run.begun();
    run.first.signal(signal);
    const [begunAt = 0, lastBeatAt = 0] = (await run.nextSees()).split(' ').map(Number);
    expect(lastBeatAt).toBeGreaterThan(0);
    expect(lastBeatAt, 'the last sign of a chain').toBeLessThan(begunAt);
  } finally {
    rmSync(beats); // What is left of the chains ends.
  }
}
