// Server on a real server: the contract that every Master keeps, and what only a real
// connection can get wrong, namely that a client library queues, resends or reorders (each of
// these rows is a bug that some Redlock library has had).

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Server } from '../../src/redis/server.ts';
import { faults } from '../contract/faults.ts';
import { masterContract } from '../contract/master.ts';
import { order } from '../contract/order.ts';
import { FaultyProxy } from '../servers/faulty-proxy.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { handleOn, lasting, newClaim } from './rig.ts';
import { redisWorld } from './world.ts';

let unix: TestMaster;
let tcp: TestMaster;
beforeAll(async () => {
  [unix] = (await startMasters(1)) as [TestMaster];
  [tcp] = (await startMasters(1, { transport: 'tcp' })) as [TestMaster];
});
afterAll(async () => {
  await stopAll();
  nothingLeft();
});

masterContract(
  'Server on a unix socket',
  redisWorld(() => unix),
);
// What a server answers does not depend on how it is reached; what goes wrong does.
describe('Server on TCP', () => {
  const world = redisWorld(() => tcp);
  order(world);
  faults(world);
});

/** The keys once it is connected again and whatever it had kept back would have been sent. */
async function keysOnceBack(handle: Server): Promise<string[]> {
  await handle.identify();
  await sleep(100);
  return tcp.keys();
}

/** A handle that is connected by way of a proxy. */
async function behindProxy(): Promise<{ proxy: FaultyProxy; behind: Server }> {
  const proxy = await FaultyProxy.start(tcp.url);
  const behind = handleOn(proxy);
  await behind.identify();
  return { proxy, behind };
}

describe('nothing is queued and nothing is sent twice', () => {
  let handle: Server;
  beforeEach(async () => {
    await tcp.flush();
    handle = handleOn(tcp);
  });

  test('a server that was down when it was asked, and comes up: no key', async () => {
    await tcp.kill();
    expect(await handle.acquire(newClaim(), lasting)).toMatchObject({
      message: 'connection refused',
    });
    await tcp.restart();
    expect(await keysOnceBack(handle)).toEqual([]);
  });

  test('a server that dies with the request, and comes up: no key', async () => {
    await handle.identify();
    await tcp.freeze();
    const reply = handle.acquire(newClaim(), lasting);
    await sleep(20);
    await tcp.restart();
    expect(await reply).toMatchObject({ kind: 'failed', cause: 'connection' });
    expect(await keysOnceBack(handle)).toEqual([]);
  });

  test('a request that the network held back and lost with the connection: no key', async () => {
    const { proxy, behind } = await behindProxy();
    proxy.holdRequests();
    const reply = behind.acquire(newClaim(), lasting);
    await sleep(20);
    proxy.cut();
    await proxy.pass();
    expect(await reply).toMatchObject({ kind: 'failed', cause: 'connection' });
    expect(await keysOnceBack(behind)).toEqual([]);
    await proxy.stop();
  });

  test('an acquire whose answer was lost is counted once for each time it was made', async () => {
    const { proxy, behind } = await behindProxy();
    const claim = newClaim();
    await tcp.command('set', '{r}:fence', 1);
    proxy.dropReplies();
    const reply = behind.acquire(claim, lasting);
    await eventually('set', () => tcp.get('r'));
    proxy.cut();
    await proxy.pass();
    expect(await reply).toMatchObject({ kind: 'failed' });
    expect(await behind.acquire(claim, lasting)).toEqual({ kind: 'granted', fence: 3 });
    await proxy.stop();
  });

  test('5. scripts flushed between any two calls: order is kept, no orphan (O5)', async () => {
    const claim = newClaim();
    for (const call of [
      () => handle.acquire(claim, lasting),
      () => handle.extend(claim, 1, lasting),
      () => handle.repair(claim, 1, lasting),
      () => handle.release(claim, 0, null),
    ]) {
      await tcp.command('script', 'flush');
      expect((await call()).kind).not.toBe('failed');
    }
    const pair = [
      handle.acquire(claim, lasting),
      tcp.command('script', 'flush'),
      handle.release(claim, 0, null),
    ];
    await Promise.all(pair);
    expect(await tcp.get('r')).toBeNull();
  });

  test('a silent connection that is given up gets the release as well', async () => {
    await handle.identify();
    await tcp.freeze();
    const claim = newClaim();
    const reply = handle.acquire(claim, lasting);
    await sleep(1_050);
    const other = handle.acquire(newClaim({ resources: ['s'] }), lasting);
    await sleep(20);
    const released = handle.release(claim, 0, null);
    tcp.thaw();
    expect(await other).toMatchObject({ kind: 'granted' });
    await Promise.all([reply, released]);
    expect(await tcp.get('r')).toBeNull();
  });

  test('a handle that is closed sends no more, and what it was asked fails', async () => {
    await handle.identify();
    await tcp.freeze();
    const reply = handle.extend(newClaim(), null, lasting);
    const closed = handle.close();
    tcp.thaw();
    await closed;
    expect((await reply).kind).toMatch(/missing|failed/);
    // Versions differ in whether the server reads the end of a connection or a command first.
    const clients = async () => (await tcp.command('client', 'list')) as string;
    await expect.poll(async () => (await clients()).trim().split('\n')).toHaveLength(1);
  });
});

describe('what is still unanswered when a handle is closed', () => {
  /** A release that the server has not read yet, as it reads 16 kB at a time; and what happens. */
  async function releaseUnread() {
    await unix.flush();
    const handle = handleOn(unix);
    await handle.identify();
    await unix.freeze();
    const claim = newClaim();
    for (const resource of ['r', 'r1', 'r2', 'r3'])
      void handle.acquire({ ...claim, resources: [resource] }, lasting);
    const events: string[] = [];
    const released = handle.release(claim, 0, null).then(({ kind }) => events.push(kind));
    const closed = handle.close().then(() => events.push('closed'));
    return { events, all: Promise.all([released, closed]), closed };
  }

  test('a server that stood still for a moment has answered before the end', async () => {
    const { events, all } = await releaseUnread();
    await sleep(50);
    unix.thaw();
    await all;
    expect(events).toEqual(['released', 'closed']);
    expect(await unix.get('r')).toBeNull();
  });

  test('a server that goes on standing still is not waited for', async () => {
    const { events, all, closed } = await releaseUnread();
    await closed;
    expect(events).toEqual(['closed']);
    unix.thaw();
    await all;
  });
});

test('a fresh connection costs one round trip: AUTH, INFO, ROLE and the command', async () => {
  const proxy = await FaultyProxy.start(tcp.url);
  proxy.delay(2_000);
  const handle = handleOn(proxy);
  const startedAt = performance.now();
  expect(await handle.acquire(newClaim({ resources: ['fast'] }), lasting)).toMatchObject({
    kind: 'granted',
  });
  expect(performance.now() - startedAt).toBeLessThan(3_900);
  await proxy.stop();
});
