// What has nothing to do costs nothing: how often redlock-run and its guard wake up while a command
// runs, what they look at meanwhile, and that ended orphans are reaped without a look at the time.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { environmentFor } from '../cli/rig.ts';
import { generous } from '../servers/patience.ts';
import { childrenOf } from '../servers/proc.ts';
import { eventually } from '../servers/processes.ts';
import { isStandalone, nodeProgram } from '../servers/run-cli.ts';
import { type Job, sharedMasters, startJob } from './rig.ts';

const hasTracer = spawnSync('strace', ['-V']).status === 0;
if (!hasTracer) process.stderr.write('  SKIPPED: what is read: no strace\n');

const flags = ['--ttl', '30s'];
const command = ['sh', '-c', 'echo ready; exec sleep 600'];
const watchMs = 10_000;
/**
 * In that time: there is an extension in it, and the slow looks. Bun looks at its garbage each
 * second, in both processes, and wakes threads for it; in its first half minute many of them.
 */
const mostWakeUps = isStandalone ? 100 : 20;
const mostCounts = isStandalone ? 8 : 4;
/**
 * It looks twice a second whether it is still wanted. By timers alone it would also look four times
 * a second whether the machine has slept.
 */
const mostOfHold = 70;

/** A holder that has started, and listens for what people ask. */
async function holder(): Promise<Job> {
  const job = await startJob(await sharedMasters(), command, { flags, timeoutMs: 120_000 }).ready();
  await sleep(3_000);
  return job;
}

describe.concurrent('a holder with nothing to do', () => {
  it(
    'wakes up no more often than its runtime does by itself, its guard included',
    async () => {
      const job = await holder();
      expect(await leastWakeUps([job.run.pid, job.guardPid], mostWakeUps)).toBeLessThanOrEqual(
        mostWakeUps,
      );
    },
    generous(120_000),
  );

  it.runIf(!isStandalone)('a lock of redlockctl hold wakes up for itself only', async () => {
    const masters = await sharedMasters();
    const held = spawn(process.execPath, [nodeProgram('redlockctl'), 'hold', 'quiet', ...flags], {
      env: { PATH: process.env.PATH, ...environmentFor(masters), REDLOCK_RESTART_GRACE: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(held.stdout, 'data');
    await sleep(3_000);
    const count = await leastWakeUps([held.pid ?? Number.NaN], mostOfHold);
    held.kill('SIGTERM');
    await once(held, 'close');
    expect(count).toBeLessThanOrEqual(mostOfHold);
  });

  it.runIf(hasTracer)('reads /proc for an extension and slow looks only', async () => {
    const job = await holder();
    for (const pid of [job.run.pid, job.guardPid]) {
      const reads = await readsOf(pid);
      const lists = reads.filter((file) => file.endsWith(`/${pid}/children`));
      expect(lists.length, reads.join('\n')).toBeLessThanOrEqual(4);
      const clocks = reads.filter((file) => file === '/proc/uptime');
      expect(clocks.length, reads.join('\n')).toBeLessThan(40);
    }
  });

  it('reaps the orphans of its command as they end', async () => {
    const forks = 'while read -r line; do (sleep 0.2 & echo $!); done';
    const job = startJob(await sharedMasters(), ['sh', '-c', `echo ready; ${forks}`], {
      flags,
      stdin: 'pipe',
    });
    await job.ready();
    const startedAt = performance.now();
    for (const count of [1, 2, 3, 4]) {
      job.run.child.stdin?.write('\n');
      const said = new RegExp(`ready\n(\\d+\n){${count}}$`);
      await job.run.says('stdout', said, 20_000);
      const pid = Number(job.run.stdout.trim().split('\n').at(-1));
      await eventually('it is reaped', () => !childrenOf(job.guardPid).includes(pid), 60_000);
    }
    // Slow looks alone would take ten seconds for each.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });
});

/**
 * How often these processes wake up in a while: the least that is seen in several of them, since V8
 * collects the garbage of the start with four threads, once.
 */
async function leastWakeUps(pids: readonly number[], enough: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let nth = 0; nth < mostCounts && least > enough; nth += 1) {
    const before = wakeUpsOf(pids);
    await sleep(watchMs);
    const after = [...wakeUpsOf(pids)];
    const count = after.reduce((sum, [id, all]) => sum + all - (before.get(id) ?? 0), 0);
    least = Math.min(least, count);
  }
  return least;
}

/**
 * How often each thread of these processes has waited for something, by its id. *Note:* what a
 * thread did is gone with it, so a sum over all of them may fall.
 */
function wakeUpsOf(pids: readonly number[]): ReadonlyMap<string, number> {
  const counts = pids.flatMap((pid) =>
    readdirSync(`/proc/${pid}/task`).map((thread): [string, number] => {
      const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8');
      return [thread, Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1])];
    }),
  );
  return new Map(counts);
}

/** The files below /proc that a process opens while it is watched. */
async function readsOf(pid: number): Promise<string[]> {
  const args = ['-f', '-e', 'trace=openat', '-p', String(pid)];
  const tracer = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let text = '';
  tracer.stderr.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  await sleep(watchMs);
  tracer.kill('SIGINT');
  await once(tracer, 'close');
  return [...text.matchAll(/"(\/proc\/[^"]*)"/g)].map(([, file = '']) => file);
}
