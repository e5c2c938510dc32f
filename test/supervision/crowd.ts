// A lock of four seconds that changes hands on a machine full of unrelated processes: does the
// command end before the next holder starts?

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { TestMaster } from '../servers/master.ts';
import type { CliResult } from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { fixture, Succession } from './next-holder.ts';

export interface HandOver {
  /**
   * From the last sign of the first command to the first one of the second; negative: they
   * overlapped.
   */
  readonly gapMs: number;
  readonly first: CliResult;
}

/**
 * So many idle processes, and busy ones for each core. Resolves with the function that ends them.
 */
export async function gatherCrowd(idle: number, perCore: number): Promise<() => Promise<void>> {
  const busy = perCore * availableParallelism();
  const args = [fixture('crowd.pl'), String(idle), String(busy)];
  const crowd = spawn('perl', args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  const ended = once(crowd, 'exit');
  await Promise.race([once(crowd.stdout, 'data'), ended]);
  if (crowd.exitCode !== null) throw new Error('the crowd could not be gathered');
  return async () => {
    crowd.stdin.end();
    await ended;
  };
}

/** The first command runs to its end after ten seconds, or until this happens to redlock-run. */
export async function handOver(
  masters: readonly TestMaster[],
  happens: 'SIGKILL' | 'SIGSTOP' | null,
  arrival: () => Promise<unknown> = async () => {},
): Promise<HandOver> {
  const beats = join(mkdtempSync(join(scratchFolder(), 'crowd-')), 'beats');
  const heart = ['perl', fixture('heartbeat.pl')];
  const seconds = happens === null ? '10' : '120';
  // A command that is to be killed has also left its family: it has a session of its own, and no
  // parent.
  const leaves = happens === null ? [] : ['sh', '-c', 'setsid -f "$@"; exec sleep 120', 'sh'];
  const run = new Succession(masters, () => [...leaves, ...heart, 'beat', beats, seconds], {
    flags: ['--ttl', '4s', '-k', '500ms'],
    looks: [...heart, 'look', beats],
  });
  await run.begun();
  await arrival();
  if (happens !== null) run.first.signal(happens);
  const [begunAt = 0, lastBeatAt = 0] = (await run.nextSees()).split(' ').map(Number);
  if (!(lastBeatAt > 0)) throw new Error('the first command gave no sign');
  if (happens === 'SIGSTOP') run.first.signal('SIGKILL');
  return { gapMs: (begunAt - lastBeatAt) * 1_000, first: await run.result };
}
