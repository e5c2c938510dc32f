// A whole run on a machine with thousands of idle processes, against the same run without them:
// ending a command must not cost more because of other processes. In blocks, without and with in
// turn, because thousands of processes cannot be started for each run. Linux only.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { quantile, ratioOf } from './rounds.ts';

const program = path.resolve('bin/redlock-run.js');
const idleCount = Number(process.env.IDLE_COUNT ?? 5_000);
const blockCount = Number(process.env.IDLE_BLOCKS ?? 5);
const runsPerBlock = 8;

export async function idle(masters: readonly string[]) {
  const job = [program, ...masters.flatMap((url) => ['--master', url]), 'idle', '--', 'true'];
  const times: Record<'without' | 'with', number[]> = { without: [], with: [] };
  await block(job);
  for (let index = 0; index < blockCount; index += 1) {
    times.without.push(await block(job));
    const crowd = await startCrowd();
    try {
      times.with.push(await block(job));
    } finally {
      await end(crowd);
    }
  }
  const row = (own: readonly number[]) => ({
    ratio: ratioOf(own, times.without).toFixed(2),
    'median ms': quantile(own, 0.5).toFixed(1),
  });
  return { 'a run alone': row(times.without), [`among ${idleCount} idle`]: row(times.with) };
}

/** The median of some runs in a row, in ms. */
async function block(job: readonly string[]): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < runsPerBlock; index += 1) {
    const startedAt = performance.now();
    const env = { ...process.env, REDLOCK_RESTART_GRACE: '0' };
    const [code] = await once(spawn(process.execPath, job, { stdio: 'ignore', env }), 'exit');
    if (code !== 0) throw new Error(`a run exited with ${code}`);
    times.push(performance.now() - startedAt);
  }
  return quantile(times, 0.5);
}

/** One shell starts so many processes faster than this program would. */
async function startCrowd(): Promise<ChildProcess> {
  const script = 'for i in $(seq "$0"); do sleep 3600 & done; echo ready; read _; kill $(jobs -p)';
  const stdio = ['pipe', 'pipe', 'ignore'] as const;
  const shell = spawn('bash', ['-c', script, String(idleCount)], { stdio: [...stdio] });
  if (shell.stdout === null) throw new TypeError('no pipe');
  await once(shell.stdout, 'data');
  return shell;
}

async function end(shell: ChildProcess): Promise<void> {
  shell.stdin?.end('\n');
  await once(shell, 'exit');
}
