// A machine that stands still, as redlock-run and its guards see it: all three are stopped for
// seconds, and go on at different instants. None takes another for dead, and no job ends for
// nothing. `STANDSTILLS=500 npm test -- --project long test/long/standstills` plays five hundred of
// each.

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { generous } from '../servers/patience.ts';
import {
  guardsOf,
  type Job,
  type JobOptions,
  sharedMasters,
  startJob,
} from '../supervision/rig.ts';

const runCount = Number(process.env.STANDSTILLS ?? 10);
const atATime = 10;
const limitMs = generous(60_000) + runCount * generous(20_000);
const quietJob = ['sh', '-c', 'echo ready; read -r _; exit 3'];

/** How much later than redlock-run a guard gets a processor again, in ms. */
const delaysMs = [0, 30, 80, 150];

it('at any instant while the command runs', { timeout: limitMs }, async () => {
  await manyTimes(['--ttl', '9s', '-k', '1s'], async (job, nth) => {
    const { run } = job;
    await run.says('stdout', /ready/, 60_000);
    const outer = job.guardPid;
    const guards = [outer, ...guardsOf(outer)];
    expect(guards).toHaveLength(2);
    await sleep((nth * 173) % 3_000); // The lock is extended every three seconds.
    for (const guard of guards) process.kill(guard, 'SIGSTOP');
    run.signal('SIGSTOP');
    await sleep(2_000);
    run.signal('SIGCONT');
    for (const guard of nth % 2 === 0 ? guards : guards.reverse()) {
      await sleep(delaysMs[nth % delaysMs.length] ?? 0);
      process.kill(guard, 'SIGCONT');
    }
  });
});

it('again and again while the run starts', { timeout: limitMs }, async () => {
  const flags = ['--ttl', '2m', '-k', '1s'];
  const env = { REDLOCK_GIVE_UP_AFTER: '5m' };
  await manyTimes(
    flags,
    async ({ run }, nth) => {
      // Not all at the same instants.
      for (let rest = 1 + (nth % 4); rest > 0 && !/ready/.test(run.stdout); rest -= 1) {
        await sleep((nth * 97 + rest * 131) % 400);
        run.signalGroup('SIGSTOP');
        await sleep(2_600);
        if (nth % 2 === 0) run.signal('SIGCONT');
        await sleep(delaysMs[nth % delaysMs.length] ?? 0);
        run.signalGroup('SIGCONT');
      }
      await run.says('stdout', /ready/, 60_000);
    },
    env,
  );
});

/** Each job is told to end when `happens` is over, and ends as it was told. */
async function manyTimes(
  flags: readonly string[],
  happens: (job: Job, nth: number) => Promise<void>,
  env: JobOptions['env'] = {},
): Promise<void> {
  const masters = await sharedMasters();
  let next = 0;
  const lane = async () => {
    for (let nth = next++; nth < runCount; nth = next++) {
      const options = { flags, env, stdin: 'pipe', timeoutMs: 120_000 } as const;
      const job = startJob(masters, quietJob, options);
      await happens(job, nth);
      job.leaves();
      const { code, stderr } = await job.run.result;
      const said = stderr.split('\n').filter((line) => /guard|lost|killed|stopp/.test(line));
      expect([nth, code, said]).toEqual([nth, 3, []]);
      await job.cleanUp();
    }
  };
  await Promise.all(Array.from({ length: atATime }, lane));
}
