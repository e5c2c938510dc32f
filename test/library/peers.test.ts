// The tables of docs/coming-from-libraries.md: each row is run. A row without a test fails, and a
// test without a row as well. The claims about the other libraries are not tested.

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { RedlockMutex } from 'redis-semaphore';
import { describe, expect, test } from 'vitest';
import {
  allowsForDrift,
  attempts,
  boundsAnswers,
  countsSlots,
  countsTries,
  endsBySignal,
  extendsToItsTtl,
  firesInTime,
  hasTokensOfItsOwn,
  isTakenOver,
  keepsAlive,
  locksAllOrNone,
  locksAndUnlocks,
  masters,
  nodesFailApart,
  pauses,
  quorumIsThatOfTheList,
  releasesWithoutError,
  runsOut,
  take,
  takesWhenFree,
  tellsNameAndToken,
  tellsNames,
  tellsRemainingTime,
  triesOnce,
  usesAndReturns,
  usesWithoutPartialLocks,
} from './behaviour.ts';
import {
  clientsOf,
  collector,
  errorOf,
  isOnEach,
  redlockOn,
  takeBy,
  untilNothingIsLeft,
} from './rig.ts';

const tables = new Map(
  [
    ...readFileSync(
      new URL('../../docs/coming-from-libraries.md', import.meta.url),
      'utf8',
    ).matchAll(tablePattern()),
  ].map(([, name = '', rows = '']) => [name, rows.trim().split('\n').slice(2).map(cellsOf)]),
);

function tablePattern(): RegExp {
  return /<!-- ([\w-]+) -->\n([\s\S]*?)<!-- \/\1 -->/g;
}

function cellsOf(row: string): readonly [there: string, here: string] {
  const [, there = '', here = ''] = row.split('|').map((cell) => cell.trim());
  return [there, here];
}

const rows: Record<string, Record<string, () => unknown>> = {
  redsync: {
    '`redsync.New(pools...)`': () => {
      expect(() => redlockOn([masters[0]?.url ?? '', masters[0]?.url ?? ''])).toThrow(
        /same server/,
      );
    },
    '`NewMutex(name, WithExpiry(d))`': locksAndUnlocks,
    '`WithTries(n)`': countsTries,
    '`WithRetryDelay(d)`': () => pauses(100, 0),
    '`WithRetryDelayFunc(f)`': async () => {
      const told: number[] = [];
      await attempts({ count: 2, delayMs: (attemptCount) => told.push(attemptCount) });
      expect(told).toEqual([1, 2]);
    },
    '`WithDriftFactor(f)`': allowsForDrift,
    '`WithTimeoutFactor(f)`': boundsAnswers,
    '`WithGenValueFunc(f)`': hasTokensOfItsOwn,
    '`WithValue(v)`': isTakenOver,
    '`WithFailFast(true)`': async () => {
      await masters[0]?.freeze();
      const beganAt = performance.now();
      const lease = await take({ masterTimeoutMs: 3_500 });
      expect(performance.now() - beganAt).toBeLessThan(3_000);
      masters[0]?.thaw();
      await lease.release();
      await untilNothingIsLeft(masters);
    },
    '`WithSetNXOnExtend()`': async () => {
      const lease = await take();
      await masters[0]?.flush();
      await lease.extend();
      await sleep(100);
      await isOnEach(masters, 'job');
      for (const master of masters.slice(1)) await master.flush();
      expect((await errorOf(lease.extend())).kind).toBe('lost');
    },
    '`Lock()`': locksAndUnlocks,
    '`TryLock()`': triesOnce,
    '`LockContext(ctx)`': endsBySignal,
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
      await takesWhenFree({ waitMs: null });
      await takesWhenFree({ retries: { count: Number.POSITIVE_INFINITY, delayMs: 20 } });
    },
    '`retryDelay`, `retryJitter`': () => pauses(60, 60),
    '`automaticExtensionThreshold`': firesInTime,
    '`acquire([name], ms)`, `lock(name, ms)`': usesWithoutPartialLocks,
    '`acquire([a, b], ms)`, `lock([a, b], ms)`': locksAllOrNone,
    '`acquire([name], ms, settings)`, `lockWithOptions`': triesOnce,
    '`lock.extend(ms)`': extendsToItsTtl,
    '`lock.release()`, `lock.unlock()`': releasesWithoutError,
    '`lock.expiration`': tellsRemainingTime,
    '`lock.value`': tellsNameAndToken,
    '`lock.resources`, in 4 `lock.resource`': tellsNames,
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
      await played(triesOnce);
      await played(nodesFailApart);
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
  'redis-semaphore': {
    '`new RedlockMutex(clients, key)`, `Mutex`': async () => {
      const theirs = new RedlockMutex(clientsOf(masters), 'job', {
        acquireAttemptsLimit: 1,
        refreshInterval: 0,
      });
      const redlock = redlockOn(masters, { prefix: 'mutex:', waitMs: 0 });
      expect(await theirs.tryAcquire()).toBe(true);
      expect((await errorOf(redlock.acquire('job', 5_000))).kind).toBe('busy');
      await theirs.release();
      const ours = await redlock.acquire('job', 5_000, { keepAlive: true });
      expect(await theirs.tryAcquire()).toBe(false);
      await ours.release();
    },
    '`new RedlockSemaphore(clients, key, n)`, `Semaphore`': countsSlots,
    '`lockTimeout`': runsOut,
    '`acquireTimeout`': async () => {
      await takeBy('them', masters, 'job');
      const beganAt = performance.now();
      expect((await errorOf(take({ waitMs: 300 }))).kind).toBe('busy');
      expect(performance.now() - beganAt).toBeGreaterThan(295);
    },
    '`acquireAttemptsLimit: n`, `retryInterval: d`': async () => {
      await played(countsTries);
      await pauses(50, 0);
    },
    '`refreshInterval`': keepsAlive,
    '`refreshInterval: 0`': runsOut,
    '`identifier`': hasTokensOfItsOwn,
    '`acquiredExternally`': isTakenOver,
    '`onLockLost`': firesInTime,
    '`acquire(signal)`': endsBySignal,
    '`tryAcquire()`': triesOnce,
    '`isAcquired`': tellsRemainingTime,
    '`release()`': releasesWithoutError,
    '`TimeoutError`': async () => {
      await played(triesOnce);
      await played(nodesFailApart);
    },
    '`LostLockError`': async () => {
      const lease = await take();
      for (const master of masters) await master.flush();
      expect((await errorOf(lease.extend())).kind).toBe('lost');
    },
  },
  'redlock-php': {
    '`new RedLock([[host, port, timeout], ...])`': boundsAnswers,
    '`new RedLock($servers, $retryDelay, $retryCount)`': async () => {
      await pauses(50, 50);
      await played(countsTries);
    },
    '`$redLock->lock($resource, $ttl)`': locksAndUnlocks,
    "`$lock['validity']`": tellsRemainingTime,
    "`$lock['resource']`, `$lock['token']`": tellsNameAndToken,
    '`$redLock->unlock($lock)`': locksAndUnlocks,
  },
  'redlock-cpp': {
    '`AddServerUrl(ip, port)`': quorumIsThatOfTheList,
    '`SetRetry(count, delay)`': async () => {
      await pauses(50, 100);
      await played(countsTries);
    },
    '`Lock(resource, ttl, lock)`': locksAndUnlocks,
    '`ContinueLock(resource, ttl, lock)`': keepsAlive,
    '`Unlock(lock)`': locksAndUnlocks,
    '`m_validityTime`': tellsRemainingTime,
    '`m_resource`, `m_val`': tellsNameAndToken,
  },
};

const results = new Map<() => unknown, unknown>();

/** Several rows refer to one check, which is played once. */
function played(check: () => unknown): unknown {
  const result = results.get(check) ?? check();
  results.set(check, result);
  return result;
}

test('the tables are those that are tested', () => {
  expect([...tables.keys()]).toEqual(Object.keys(rows));
});

describe.each(Object.entries(rows))('%s', (table, tests) => {
  test('every row with an equivalent here has a test, and the reverse', () => {
    const withTwin = tables.get(table)?.flatMap(([there, here]) => (here === '' ? [] : [there]));
    expect(withTwin).toEqual(Object.keys(tests));
  });

  test.each(Object.entries(tests))('%s', async (_there, check) => {
    await played(check);
  });
});
