// Masters given as clients of ioredis with settings that queue, resend, prefix and rewrite
// commands. The settings do not affect the lock, and the library does not affect the clients.

import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
// @ts-expect-error It has no types of its own.
import Redis4 from 'ioredis-4';
import { Redis as Redis5 } from 'ioredis-5';
import { afterEach, describe, expect, test } from 'vitest';
import { FaultyProxy } from '../servers/faulty-proxy.ts';
import { startMasters } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import {
  clientsOf,
  collector,
  countOf,
  errorOf,
  isOnEach,
  redlockOn,
  untilNothingIsLeft,
  useMasters,
} from './rig.ts';

const { masters } = useMasters(3);
const proxies: FaultyProxy[] = [];
afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.stop();
});

const versions = [
  ['4', Redis4 as unknown as typeof Redis],
  ['5', Redis5 as unknown as typeof Redis],
  ['6', Redis],
] as const;

describe.each(versions)('clients of ioredis %s', (_version, Client) => {
  test('acquire, extend, hand over to a waiter at once, and release', async () => {
    const one = redlockOn(clientsOf(masters, {}, Client));
    const other = redlockOn(clientsOf(masters, {}, Client));
    let lease = await one.acquire('job', 10_000);
    await lease.extend();
    const { events, onEvent } = collector();
    const third = redlockOn(masters, { onEvent });
    expect((await errorOf(third.acquire('job', 10_000, { waitMs: 0 }))).kind).toBe('busy');
    const queue = '{redlock:job}:queue';
    const gapsMs: number[] = [];
    for (const waiter of [other, one, other, one, other]) {
      const waiting = waiter.acquire('job', 10_000);
      for (const master of masters)
        await eventually(
          'it is in the queue',
          async () => (await master.command('zcard', queue)) === 1,
        );
      const releasedAt = performance.now();
      expect(await lease.release()).toBe(true);
      const next = await waiting;
      gapsMs.push(performance.now() - releasedAt);
      expect(next.fence).toBeGreaterThan(Number(lease.fence));
      lease = next;
    }
    await lease.release();
    // They had just asked, and poll once a second; a busy machine adds to a few gaps.
    expect(gapsMs.sort((shorter, longer) => shorter - longer)[2]).toBeLessThan(700);
    expect(events.map(({ kind }) => kind)).not.toContain('master-failing');
    await untilNothingIsLeft(masters);
  });

  test('settings that change commands or replies are not used', async () => {
    const strange = {
      keyPrefix: 'app:',
      stringNumbers: true,
      enableAutoPipelining: true,
      commandTimeout: 1,
      reconnectOnError: () => true,
    };
    const redlock = redlockOn(clientsOf(masters, strange, Client));
    await redlock.using('job', 2_000, async (_signal, lease) => {
      await isOnEach(masters, 'job');
      await lease.extend();
    });
    await untilNothingIsLeft(masters);
  });

  test('on another database lock there, and exclude no client of other databases', async () => {
    const redlock = redlockOn(clientsOf(masters, { db: 2 }, Client));
    const lease = await redlock.acquire('job', 10_000);
    expect(await countOf(masters, 'job')).toBe(0);
    const there = redlockOn(masters.map(({ url }) => `${url}?db=2`));
    expect((await errorOf(there.acquire('job', 10_000, { waitMs: 0 }))).kind).toBe('busy');
    await lease.release();
  });

  test('are neither used nor connected nor closed', async () => {
    const idle = clientsOf(masters, { lazyConnect: true }, Client);
    await redlockOn(idle).using('job', 2_000, () => {});
    expect(idle.map(({ status }) => status)).toEqual(['wait', 'wait', 'wait']);
    const busy = clientsOf(masters, {}, Client);
    const redlock = redlockOn(busy);
    const lease = await redlock.acquire('job', 2_000);
    await Promise.all(busy.map((client) => client.ping()));
    await Promise.all(busy.map((client) => client.quit()));
    await lease.extend();
    expect(await lease.release()).toBe(true);
    const fresh = clientsOf(masters, {}, Client);
    const other = redlockOn(fresh);
    await other.using('job', 2_000, () => {});
    await other.close();
    expect(await fresh[0]?.ping()).toBe('PONG');
  });

  test('with a password log in, and a wrong one is reported', async () => {
    const [guarded] = await startMasters(1, { config: { requirepass: 'secret' } });
    if (!guarded) throw new Error('no master');
    const lease = await redlockOn(clientsOf([guarded], { password: 'secret' }, Client)).acquire(
      'job',
      2_000,
    );
    expect(await lease.release()).toBe(true);
    const error = await errorOf(
      redlockOn(clientsOf([guarded], { password: 'wrong' }, Client)).acquire('job', 2_000),
    );
    expect(error.kind).toBe('misconfigured');
    expect(error.message).not.toMatch(/secret|wrong/);
  });
});

describe.each(versions)('clients of ioredis %s, and a broken connection', (_version, Client) => {
  test('resend commands after a broken connection; the library does not', async () => {
    for (const { url } of masters) proxies.push(await FaultyProxy.start(url));
    const redlock = redlockOn(clientsOf(proxies, {}, Client), {
      giveUpAfterMs: 0,
      masterTimeoutMs: 500,
    });
    await redlock.using('other', 5_000, () => {}); // All are connected.
    for (const proxy of proxies) proxy.holdRequests();
    for (const master of masters) await master.command('config', 'resetstat');
    const failing = errorOf(redlock.acquire('job', 60_000));
    await sleep(100);
    for (const proxy of proxies) {
      proxy.cut();
      await proxy.pass();
    }
    expect((await failing).kind).toBe('unreachable');
    await sleep(500);
    for (const master of masters)
      expect(await master.command('info', 'commandstats')).not.toContain('cmdstat_set:');
  });

  test('set no key when the connection breaks with the request on its way', async () => {
    for (const { url } of masters) proxies.push(await FaultyProxy.start(url));
    for (const proxy of proxies.slice(1)) proxy.dropReplies();
    const redlock = redlockOn(clientsOf(proxies, {}, Client), {
      giveUpAfterMs: 0,
      masterTimeoutMs: 200,
    });
    const failing = errorOf(redlock.acquire('job', 60_000));
    await sleep(100);
    for (const proxy of proxies) proxy.cut();
    expect((await failing).kind).toBe('unreachable');
    for (const proxy of proxies) {
      proxy.cut(); // Connections on which answers were lost are good for nothing.
      await proxy.pass();
    }
    // The rollback follows on the next connections.
    const lease = await redlock.acquire('job', 60_000, { giveUpAfterMs: 5_000 });
    await lease.release();
    await untilNothingIsLeft(masters);
  });
});

describe('refused masters', () => {
  const client = () => clientsOf(masters.slice(0, 1), { lazyConnect: true })[0] as Redis;

  test.each([
    ['nothing', () => [], /^masters: none given/],
    ['a wrong URL', () => ['redis://h:port'], /^masters: .*not a port/],
    ['a user alone', () => ['redis://user@h'], /^masters: .*: a user without a password \(/],
    [
      'a client of another package',
      () => [{ duplicate() {}, sendCommand() {}, options: {} } as never],
      /neither a URL nor/,
    ],
    ['a cluster', () => [{ isCluster: true } as never], /^masters: a client of a cluster/],
    [
      'sentinels',
      () => [new Redis({ sentinels: [{ host: 'h', port: 1 }], name: 'm', lazyConnect: true })],
      /sentinels/,
    ],
    [
      'one server twice',
      () => [client(), client()],
      /the same server as unix:.* \(list each server once\)/,
    ],
    [
      'one server by a client and a URL',
      () => [client(), masters[0]?.url ?? ''],
      /the same server/,
    ],
  ])('%s is refused at once', (_what, sources, message) => {
    expect(() => redlockOn(sources())).toThrow(message);
  });

  test('one server by two names, which its answer shows', async () => {
    const proxy = await FaultyProxy.start(masters[0]?.url ?? '');
    proxies.push(proxy);
    const redlock = redlockOn([...clientsOf([...masters.slice(0, 2), proxy])]);
    const error = await errorOf(redlock.acquire('job', 2_000, { waitMs: 500 }));
    expect(error.kind).toBe('misconfigured');
    expect(error.message).toMatch(/it would vote twice/);
  });
});
