// Chains of processes, each of which starts the next one and ends, below a guard that is stopped:
// it reaps none of them, so redlock-run, which has to end the chains in its place, finds thousands
// that have ended. The chains end all the same before the next holder starts.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { childrenOf } from '../../src/run/processes/process-table.ts';
import { hasPerl } from '../servers/perl.ts';
import { eventually } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { fixture, Succession } from './next-holder.ts';
import { sharedMasters } from './rig.ts';

const masters = await sharedMasters();

/** So many have ended when redlock-run is told to stop: before it takes the guard for dead. */
const endedCount = 500;
const chainCount = 4;

it.skipIf(!hasPerl)('SIGTERM of redlock-run', async () => {
  const beats = join(mkdtempSync(join(scratchFolder(), 'chain-')), 'beats');
  writeFileSync(beats, '\n');
  const chain = `perl "${fixture('chain.pl')}" ${beats} forks`;
  const chains = `${chain}; `.repeat(chainCount);
  const script = `trap "" TERM; ${chains} echo ready; exec sleep 120`;
  try {
    const run = new Succession(masters, (mark) => ['sh', '-c', script, mark], {
      flags: ['--ttl', '3s', '-k', '900ms'],
      looks: ['perl', fixture('heartbeat.pl'), 'look', beats],
    });
    await run.begun();
    const guard = await run.guard();
    process.kill(guard, 'SIGSTOP');
    await eventually('many have ended', () => childrenOf(guard).length > endedCount);
    run.first.signal('SIGTERM');
    const [begunAt = 0, lastBeatAt = 0] = (await run.nextSees()).split(' ').map(Number);
    expect(lastBeatAt).toBeGreaterThan(0);
    expect(lastBeatAt, 'the last sign of a chain').toBeLessThan(begunAt);
  } finally {
    rmSync(beats); // What is left of the chains ends.
  }
});
