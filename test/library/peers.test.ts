// The tables of docs/library.md for users of other Redlock libraries: each row is run. A row without a test fails, and so does a test without
// a row. What the other libraries do is told there from their sources; here is what ours does.

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { AcquireOptions, RedlockOptions } from '../../src/library.ts';
import { environmentFor } from '../cli/rig.ts';
import { runCli } from '../servers/run-cli.ts';
import { clientsOf, collector, countOf, errorOf, redlockOn, takeBy, untilNothingIsLeft, useMasters } from './rig.ts';

const { masters } = useMasters(3);

const tables = new Map(
  [...readFileSync(new URL('../../docs/library.md', import.meta.url), 'utf8').matchAll(tablePattern())].map(
    ([, name = '', rows = '']) => [name, rows.trim().split('\n').slice(2).map(cellsOf)],
  ),
);

function tablePattern(): RegExp {
  return /<!-- ([\w-]+) -->\n([\s\S]*?)<!-- \/\1 -->/g;
}

function cellsOf(row: string): readonly [there: string, here: string] {
  const [, there = '', here = ''] = row.split('|').map((cell) => cell.trim());
  return [there, here];
}

const take = (options?: AcquireOptions, all?: RedlockOptions) => redlockOn(masters, all).acquire('job', 5_000, options);

/** Acquires and releases; the lock is held on a quorum meanwhile. */
async function locksAndUnlocks(): Promise<void> {
  const lease = await take();
  expect(await countOf(masters, 'job')).toBeGreaterThan(1);
  expect(await lease.release()).toBe(true);
}

/** How many attempts there are, and how long they take, while somebody else holds the lock. */
async function attempts(retries: NonNullable<AcquireOptions['retries']>) {
  await takeBy('them', masters, 'job');
  const { events, onEvent } = collector();
  const beganAt = performance.now();
  expect((await errorOf(take({ retries }, { onEvent }))).kind).toBe('busy');
  return { count: events.filter(({ kind }) => kind === 'waiting').length + 1, tookMs: performance.now() - beganAt };
}

async function triesOnce(): Promise<void> {
  await takeBy('them', masters, 'job');
  const beganAt = performance.now();
  expect((await errorOf(take({ waitMs: 0 }))).kind).toBe('busy');
  expect(performance.now() - beganAt).toBeLessThan(500);
}

async function countsTries(): Promise<void> {
  expect((await attempts({ count: 3 - 1, delayMs: 10 })).count).toBe(3);
}

async function pauses(delayMs: number, jitterMs: number, mostMs: number): Promise<void> {
  const { tookMs } = await attempts({ count: 2, delayMs, jitterMs });
  expect(tookMs).toBeGreaterThan(2 * delayMs - 5);
  expect(tookMs).toBeLessThan(2 * (delayMs + jitterMs) + mostMs);
}

async function allowsForDrift(): Promise<void> {
  const lease = await take({ driftFactor: 0.1 });
  expect(lease.validMs).toBeLessThanOrEqual(5_000 - 500 - 2);
  await lease.release();
}

async function extendsToItsTtl(): Promise<void> {
  const lease = await redlockOn(masters).acquire('job', 1_000);
  await sleep(500);
  expect(lease.validMs).toBeLessThan(500);
  await lease.extend();
  expect(lease.validMs).toBeGreaterThan(800);
  await lease.release();
}

async function releasesWithoutError(): Promise<void> {
  const lease = await redlockOn(masters).acquire('job', 300);
  await sleep(400);
  expect(await lease.release()).toBe(true); // It is free, though not by us.
  const other = await take({ masterTimeoutMs: 100 });
  for (const master of masters.slice(1)) await master.freeze();
  expect(await other.release()).toBe(false);
  for (const master of masters) master.thaw();
  await untilNothingIsLeft(masters);
}

async function tellsRemainingTime(): Promise<void> {
  const lease = await take();
  const before = lease.validMs;
  await sleep(100);
  expect(before - lease.validMs).toBeGreaterThan(90);
  expect(Date.now() + lease.validMs).toBeLessThanOrEqual(Date.now() + 4_950);
  await lease.release();
}

async function tellsNameAndToken(): Promise<void> {
  const lease = await take();
  expect(lease.resource).toBe('job');
  expect((await masters[0]?.get('redlock:job'))?.startsWith(`${lease.token} `)).toBe(true);
  await lease.release();
}

async function boundsAnswers(): Promise<void> {
  for (const master of masters) await master.freeze();
  const error = await errorOf(take({ giveUpAfterMs: 0 }, { masterTimeoutMs: 0.02 * 5_000 }));
  expect(error.message).toMatch(/no answer within 100 ms/);
  for (const master of masters) master.thaw();
}

async function nodesFailApart(): Promise<void> {
  const [, second, third] = masters;
  for (const master of [second, third]) await master?.kill();
  const error = await errorOf(take({ giveUpAfterMs: 0 }));
  expect(error).toMatchObject({ kind: 'unreachable', failures: [{ failed: { cause: 'connection' } }, {}] });
  for (const master of [second, third]) await master?.restart();
}

async function keepsAlive(): Promise<void> {
  const redlock = redlockOn(masters);
  const lease = await redlock.acquire('job', 600, { keepAlive: true });
  await sleep(1_000);
  expect(lease.validMs).toBeGreaterThan(100);
  await lease.release();
}

async function usesWithoutPartialLocks(): Promise<void> {
  await takeBy('them', masters.slice(0, 1), 'job', 300);
  const lease = await take({ retries: { count: 3, delayMs: 50 } });
  expect(await lease.release()).toBe(true);
}

async function firesInTime(): Promise<void> {
  const lease = await redlockOn(masters).acquire('job', 1_000, { reserveMs: 400 });
  await new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
  expect(lease.validMs).toBeGreaterThan(300);
  expect(lease.signal.reason).toMatchObject({ kind: 'lost' });
  await lease.release();
}

async function usesAndReturns(options?: AcquireOptions): Promise<void> {
  const redlock = redlockOn(masters);
  const work = async (signal: AbortSignal) => {
    await sleep(700);
    return signal.aborted;
  };
  const { keepAlive, ...others } = options ?? {};
  expect(await (options ? redlock.using('job', 500, others, work) : redlock.using('job', 500, work))).toBe(false);
}

async function quorumIsThatOfTheList(): Promise<void> {
  await masters[0]?.kill();
  expect(await (await take()).release()).toBe(true);
  await masters[1]?.kill();
  expect((await errorOf(take({ giveUpAfterMs: 0 }))).kind).toBe('unreachable');
  for (const master of masters.slice(0, 2)) await master.restart();
}

const rows: Record<string, Record<string, () => unknown>> = {
  redsync: {
    '`redsync.New(pools...)`': () => {
      expect(() => redlockOn([masters[0]?.url ?? '', masters[0]?.url ?? ''])).toThrow(/same server/);
    },
    '`NewMutex(name, WithExpiry(d))`': locksAndUnlocks,
    '`WithTries(n)`': countsTries,
    '`WithRetryDelay(d)`': () => pauses(100, 0, 300),
    '`WithRetryDelayFunc(f)`': async () => {
      const told: number[] = [];
      await attempts({ count: 2, delayMs: (attemptCount) => told.push(attemptCount) });
      expect(told).toEqual([1, 2]);
    },
    '`WithDriftFactor(f)`': allowsForDrift,
    '`WithTimeoutFactor(f)`': boundsAnswers,
    '`WithGenValueFunc(f)`': async () => {
      const lease = await take({}, { newToken: () => 'of-my-own' });
      expect(await masters[0]?.get('redlock:job')).toMatch(/^of-my-own \{/);
      await lease.release();
    },
    '`WithValue(v)`': async () => {
      const lease = await take();
      const options = { env: environmentFor(masters), program: 'redlockctl' } as const;
      expect(await runCli(['extend', 'job', '--token', lease.token], options)).toMatchObject({ code: 0 });
      expect(await runCli(['release', 'job', '--token', lease.token], options)).toMatchObject({ code: 0 });
      expect(await errorOf(lease.extend())).toMatchObject({ kind: 'lost', reason: 'expired' });
    },
    '`WithFailFast(true)`': async () => {
      await masters[0]?.freeze();
      const beganAt = performance.now();
      const lease = await take({ masterTimeoutMs: 2_000 });
      expect(performance.now() - beganAt).toBeLessThan(500);
      await lease.release();
      masters[0]?.thaw();
      await untilNothingIsLeft(masters);
    },
    '`WithSetNXOnExtend()`': async () => {
      const lease = await take();
      await masters[0]?.flush();
      await lease.extend();
      await sleep(100);
      expect(await countOf(masters, 'job')).toBe(3);
      for (const master of masters.slice(1)) await master.flush();
      expect((await errorOf(lease.extend())).kind).toBe('lost');
    },
    '`Lock()`': locksAndUnlocks,
    '`TryLock()`': triesOnce,
    '`LockContext(ctx)`': async () => {
      await takeBy('them', masters, 'job');
      expect((await errorOf(take({ signal: AbortSignal.timeout(100) }))).kind).toBe('aborted');
    },
    '`Extend()`': extendsToItsTtl,
    '`Unlock()`': releasesWithoutError,
    '`Until()`': tellsRemainingTime,
    '`Valid()`': extendsToItsTtl,
    '`Name()`, `Value()`': tellsNameAndToken,
    '`ErrFailed`, `ErrTaken`, `ErrNodeTaken`': triesOnce,
    '`RedisError`': nodesFailApart,
  },
  'node-redlock': {
    '`new Redlock(clients, settings)`': async () => {
      const clients = clientsOf(masters, { lazyConnect: true });
      await redlockOn(clients).using('job', 2_000, () => {});
      expect(clients.map(({ status }) => status)).toEqual(['wait', 'wait', 'wait']);
    },
    '`driftFactor`': allowsForDrift,
    '`retryCount: n`': async () => {
      expect((await attempts({ count: 0 })).count).toBe(1);
      expect((await attempts({ count: 2, delayMs: 10 })).count).toBe(3);
    },
    '`retryCount: -1`': async () => {
      await takeBy('them', masters, 'job', 400);
      await (await take({ waitMs: null })).release();
      await takeBy('them', masters, 'job', 400);
      await (await take({ retries: { count: Number.POSITIVE_INFINITY, delayMs: 20 } })).release();
    },
    '`retryDelay`, `retryJitter`': () => pauses(60, 60, 300),
    '`automaticExtensionThreshold`': firesInTime,
    '`acquire([name], ms)`, `lock(name, ms)`': usesWithoutPartialLocks,
    '`acquire([name], ms, settings)`, `lockWithOptions`': triesOnce,
    '`lock.extend(ms)`': extendsToItsTtl,
    '`lock.release()`, `lock.unlock()`': releasesWithoutError,
    '`lock.expiration`': tellsRemainingTime,
    '`lock.value`': tellsNameAndToken,
    '`using([name], ms, routine)`': () => usesAndReturns(),
    '`using([name], ms, settings, routine)`': () => usesAndReturns({ waitMs: 1_000 }),
    '`disposer(name, ms)`': async () => {
      {
        await using lease = await take();
        expect(lease.validMs).toBeGreaterThan(0);
      }
      await untilNothingIsLeft(masters);
    },
    '`signal.error`': firesInTime,
    "`on('error')`, `on('clientError')`": async () => {
      await masters[0]?.kill();
      const { events, onEvent } = collector();
      const lease = await take({}, { onEvent });
      for (let round = 0; round < 3; round++) await lease.extend();
      await lease.release();
      expect(events.filter(({ kind }) => kind === 'master-failing')).toHaveLength(1);
      await masters[0]?.restart();
    },
    '`LockError`, `ExecutionError`, `ResourceLockedError`': async () => {
      await triesOnce();
      await nodesFailApart();
    },
    '`quit()`': async () => {
      const [client] = clientsOf(masters);
      if (!client) throw new Error('no client');
      const redlock = redlockOn([client]);
      await redlock.using('job', 2_000, () => {});
      await redlock.close();
      expect(await client.ping()).toBe('PONG');
    },
  },
  'redlock-php': {
    '`new RedLock([[host, port, timeout], ...])`': boundsAnswers,
    '`new RedLock($servers, $retryDelay, $retryCount)`': async () => {
      await pauses(50, 50, 300);
      await countsTries();
    },
    '`$redLock->lock($resource, $ttl)`': locksAndUnlocks,
    "`$lock['validity']`": tellsRemainingTime,
    "`$lock['resource']`, `$lock['token']`": tellsNameAndToken,
    '`$redLock->unlock($lock)`': locksAndUnlocks,
  },
  'redlock-cpp': {
    '`AddServerUrl(ip, port)`': quorumIsThatOfTheList,
    '`SetRetry(count, delay)`': async () => {
      await pauses(50, 100, 300);
      await countsTries();
    },
    '`Lock(resource, ttl, lock)`': locksAndUnlocks,
    '`ContinueLock(resource, ttl, lock)`': keepsAlive,
    '`Unlock(lock)`': locksAndUnlocks,
    '`m_validityTime`': tellsRemainingTime,
    '`m_resource`, `m_val`': tellsNameAndToken,
  },
};

test('the tables are those that are tested', () => {
  expect([...tables.keys()]).toEqual(Object.keys(rows));
});

describe.each(Object.entries(rows))('%s', (table, tests) => {
  test('every row that has a twin here has a test, and the other way round', () => {
    const withTwin = tables.get(table)?.flatMap(([there, here]) => (here === '' ? [] : [there]));
    expect(withTwin).toEqual(Object.keys(tests));
  });

  test.each(Object.entries(tests))('%s', async (_there, run) => {
    await run();
  });
});
