// Chains of processes, each of which starts the next one and ends within a millisecond, in sessions
// whose founders have ended.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { scratchFolder } from '../servers/watchdog.ts';
import { fixture, Succession } from './next-holder.ts';
import { sharedMasters } from './rig.ts';

const masters = await sharedMasters();

/** So many of them end with a run that gets this signal, before the next holder starts. */
export async function endsInTime(
  count: number,
  way: string,
  signal: NodeJS.Signals,
): Promise<void> {
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
