// The other Redlocks on npm and redlock-run exclude each other on the same key: one plain string
// with a ttl. They see the values of each other and leave them alone, also when they release and
// extend.

import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { RedlockMutex } from 'redis-semaphore';
import NodeRedlock from 'redlock';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { type CliRun, runCli, startCli } from '../servers/run-cli.ts';

let masters: TestMaster[] = [];
let clients: Redis[] = [];
beforeAll(async () => {
  masters = await startMasters(3);
  clients = masters.map((master) => new Redis({ path: new URL(master.url).pathname }));
});
beforeEach(() => Promise.all(masters.map((master) => master.flush())));
afterAll(async () => {
  for (const client of clients) client.disconnect();
  await stopAll();
  nothingLeft();
});

interface Foreign {
  /** null when the lock is held. */
  take(
    name: string,
    ttlMs: number,
  ): Promise<{ release(): Promise<unknown>; extend(ttlMs: number): Promise<boolean> } | null>;
}

const version = (name: string) =>
  JSON.parse(
    readFileSync(new URL(`../../node_modules/${name}/package.json`, import.meta.url), 'utf8'),
  ).version;

/** One attempt. */
const redlock: Foreign = {
  async take(name, ttlMs) {
    const locker = new NodeRedlock(clients as never[], { retryCount: 0 });
    locker.on('clientError', () => {});
    const lock = await locker.lock(name, ttlMs).catch(() => null);
    if (lock === null) return null;
    const extend = (ms: number) =>
      lock.extend(ms).then(
        () => true,
        () => false,
      );
    return { release: async () => lock.unlock().catch(() => null), extend };
  },
};

/** One attempt. The library extends the lock by itself, until it is released. */
const semaphore: Foreign = {
  async take(name, ttlMs) {
    const mutex = new RedlockMutex(clients, name, {
      lockTimeout: ttlMs,
      acquireAttemptsLimit: 1,
      onLockLost: () => {},
    });
    if (!(await mutex.tryAcquire())) return null;
    return { release: () => mutex.release(), extend: async () => mutex.isAcquired };
  },
};

describe.each([
  [`redlock@${version('redlock')}`, redlock, ''],
  [`redis-semaphore@${version('redis-semaphore')}`, semaphore, 'mutex:'],
])('17. %s', (_name, foreign, prefix) => {
  const environment = () => ({
    REDLOCK_MASTERS: masters.map(({ url }) => url).join(','),
    REDLOCK_RESTART_GRACE: '0',
  });
  const once = (name: string) =>
    runCli(['--prefix', prefix, '-n', name, '--', 'echo', 'ran'], { env: environment() });

  /** A redlock-run that holds the lock until it is stopped. */
  async function holding(name: string): Promise<CliRun> {
    const job = startCli(
      ['--prefix', prefix, '--ttl', '5s', name, '--', 'sh', '-c', 'echo ready; exec sleep 60'],
      {
        env: environment(),
      },
    );
    await job.says('stdout', /ready/);
    return job;
  }

  test('holds: redlock-run is busy, says so, and changes nothing', async () => {
    const lock = await foreign.take('job', 10_000);
    const values = await Promise.all(masters.map((master) => master.get(`${prefix}job`)));
    const { code, stderr } = await once('job');
    expect(code).toBe(75);
    expect(stderr).toContain(`held by another program (value ${String(values[0]).slice(0, 20)}`);
    expect(await Promise.all(masters.map((master) => master.get(`${prefix}job`)))).toEqual(values);
    expect(await lock?.extend(10_000)).toBe(true);
    await lock?.release();
    expect(await once('job')).toMatchObject({ code: 0, stdout: 'ran\n' });
  });

  test('is excluded while redlock-run holds, and let in afterwards', async () => {
    const job = await holding('job');
    expect(await foreign.take('job', 1_000)).toBeNull();
    for (const master of masters) expect(await master.get(`${prefix}job`)).toContain(` {"host":`);
    job.signal('SIGTERM');
    await job.result;
    const lock = await foreign.take('job', 1_000);
    expect(lock).not.toBeNull();
    await lock?.release();
  });

  test('and redlock-run hand the lock over, both ways', async () => {
    const lock = await foreign.take('job', 10_000);
    const waiter = startCli(['--prefix', prefix, '-v', '-w', '10s', 'job', '--', 'echo', 'ran'], {
      env: environment(),
    });
    await waiter.says('stderr', /waiting 0s \(of 10s\) for "job": .*held by another program/);
    await lock?.release();
    expect(await waiter.result).toMatchObject({ code: 0, stdout: 'ran\n' });
    const job = await holding('job');
    const next = eventually('handed over', () => foreign.take('job', 1_000), 10_000);
    job.signal('SIGTERM');
    await job.result;
    await (await next).release();
  });

  test('on one master of three does not stop redlock-run; on two it does', async () => {
    for (const [count, code] of [
      [1, 0],
      [2, 75],
    ] as const) {
      for (const master of masters.slice(0, count))
        await master.command('set', `${prefix}part`, 'them', 'px', 10_000);
      expect(await once('part')).toMatchObject({ code });
      expect(await masters[0]?.get(`${prefix}part`)).toBe('them');
    }
  });
});
