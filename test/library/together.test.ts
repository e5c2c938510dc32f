// The library beside redlock-run, redlockctl and other libraries: the same keys, the same queue,
// the same counter.

import { setTimeout as sleep } from 'node:timers/promises';
import NodeRedlock from 'redlock';
import { expect, test } from 'vitest';
import { environmentFor } from '../cli/rig.ts';
import { ctl } from '../ctl/rig.ts';
import { runCli, startCli } from '../servers/run-cli.ts';
import {
  clientsOf,
  errorOf,
  redlockOn,
  untilAborted,
  untilNothingIsLeft,
  useMasters,
} from './rig.ts';

const { masters } = useMasters(3);
const env = () => environmentFor(masters);

test('redlock-run is busy while the library holds, and names the holder', async () => {
  const lease = await redlockOn(masters, { label: 'my-service' }).acquire('job', 10_000);
  const { code, stderr } = await runCli(['-n', 'job', '--', 'echo', 'ran'], { env: env() });
  expect(code).toBe(75);
  expect(stderr).toMatch(/held by .*, my-service, since/);
  await lease.release();
  expect(await runCli(['-n', 'job', '--', 'echo', 'ran'], { env: env() })).toMatchObject({
    code: 0,
    stdout: 'ran\n',
  });
});

test('the library is busy while redlock-run holds, and names the holder', async () => {
  const job = startCli(['job', '--', 'sh', '-c', 'echo ready; exec sleep 60'], { env: env() });
  await job.says('stdout', /ready/);
  const error = await errorOf(redlockOn(masters).acquire('job', 10_000, { waitMs: 0 }));
  expect(error.kind).toBe('busy');
  expect(error.message).toMatch(/held by .*, sh, since/);
  job.signal('SIGTERM');
  await job.result;
});

test('both wait in one queue, in the order of their arrival', async () => {
  const redlock = redlockOn(masters);
  const lease = await redlock.acquire('job', 20_000);
  /** The fencing numbers, which show the order of the holders, in the order of their arrival. */
  const fences: Promise<number>[] = [];
  for (const _turn of [1, 2]) {
    fences.push(redlock.using('job', 20_000, (_signal, { fence }) => Number(fence)));
    await sleep(500);
    const job = startCli(['-v', 'job', '--', 'printenv', 'REDLOCK_FENCE'], { env: env() });
    fences.push(job.result.then(({ stdout }) => Number(stdout)));
    await job.says('stderr', /\d\w\w in the queue/);
  }
  await lease.release();
  const got = await Promise.all(fences);
  expect(got).toEqual([...got].sort((a, b) => a - b));
  expect(got[0]).toBeGreaterThan(Number(lease.fence));
  await untilNothingIsLeft(masters);
});

test('both use the same fencing counter', async () => {
  const first = await redlockOn(masters).using('job', 5_000, (_signal, lease) =>
    Number(lease.fence),
  );
  const { stdout } = await runCli(['job', '--', 'printenv', 'REDLOCK_FENCE'], { env: env() });
  const third = await redlockOn(clientsOf(masters)).using('job', 5_000, (_signal, lease) =>
    Number(lease.fence),
  );
  expect(Number(stdout)).toBeGreaterThan(first);
  expect(third).toBeGreaterThan(Number(stdout));
});

test('redlockctl shows the holder, and break makes the signal fire', async () => {
  const redlock = redlockOn(masters, { label: 'my-service' });
  const error = await errorOf(
    redlock.using('job', 3_000, async (signal) => {
      const { stdout } = await ctl(masters, ['status', 'job']);
      expect(stdout).toMatch(/"job": held by .*, my-service, since .*; on 3 of 3 masters/);
      expect((await ctl(masters, ['break', 'job', '--yes'])).code).toBe(0);
      await untilAborted(signal);
    }),
  );
  expect(error).toMatchObject({ kind: 'lost', reason: 'expired' });
});

test('with an empty prefix the library and other libraries exclude each other', async () => {
  const foreign = new NodeRedlock(clientsOf(masters) as never[], { retryCount: 0 });
  const redlock = redlockOn(masters, { prefix: '', waitMs: 0 });
  const theirs = await foreign.lock('job', 5_000);
  const error = await errorOf(redlock.acquire('job', 5_000));
  expect(error.message).toMatch(/^busy: "job": held by another program \(value /);
  await theirs.unlock();
  const ours = await redlock.acquire('job', 5_000);
  await expect(foreign.lock('job', 5_000)).rejects.toThrow();
  await ours.release();
  await (await foreign.lock('job', 5_000)).unlock();
});
