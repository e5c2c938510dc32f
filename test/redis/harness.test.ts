// Whether the faults that other tests are built on are real: a harness that fails to freeze a
// master makes every test of a frozen master pass. Nothing of redlock-run is tested here.

import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterAll, afterEach, expect, test } from 'vitest';
import { FaultyProxy } from '../servers/faulty-proxy.ts';
import type { TestMaster } from '../servers/master.ts';
import { nothingLeft, startMasters, stopAll } from '../servers/masters.ts';
import { freePort } from '../servers/ports.ts';
import { eventually } from '../servers/processes.ts';

const clients: Redis[] = [];

/**
 * A client that neither retries nor resends; an impatient one is for commands that will not be
 * answered.
 */
function clientOf(url: string, isImpatient = false): Redis {
  const { protocol, pathname, hostname, port } = new URL(url);
  const address =
    protocol === 'unix:' ? { path: pathname } : { host: hostname, port: Number(port) };
  const client = new Redis({
    ...address,
    retryStrategy: () => null,
    enableReadyCheck: false,
    commandTimeout: isImpatient ? 200 : 5_000,
  });
  client.on('error', () => {});
  clients.push(client);
  return client;
}

async function oneMaster(transport: 'unix' | 'tcp', persist = false): Promise<TestMaster> {
  const [master] = await startMasters(1, { transport, persist });
  if (master === undefined) throw new Error('no master');
  return master;
}

afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
});

afterAll(async () => {
  await stopAll();
  nothingLeft();
});

test.each(['unix', 'tcp'] as const)(
  'a %s master answers, freezes, thaws, dies, comes back empty',
  async (transport) => {
    const master = await oneMaster(transport);
    const client = clientOf(master.url);
    await client.set('key', 'value');
    expect(await master.keys()).toEqual(['key']);

    await master.freeze();
    await expect(clientOf(master.url, true).get('key')).rejects.toThrow('timed out');
    master.thaw();
    expect(await client.get('key')).toBe('value');

    await master.kill();
    await expect(clientOf(master.url).get('key')).rejects.toThrow('closed');
    await master.restart();
    expect(await master.keys()).toEqual([]);
  },
);

test('a master that persists comes back with its keys, and can be flushed', async () => {
  const master = await oneMaster('unix', true);
  await master.command('set', 'key', 'value');
  await master.restart();
  expect(await master.get('key')).toBe('value');
  await master.flush();
  expect(await master.keys()).toEqual([]);
});

test('a master takes more settings, a password among them', async () => {
  const [master] = await startMasters(1, {
    config: { requirepass: 'x y', user: ['job', 'on', 'nopass', '+get', '~*'] },
  });
  expect(await master?.command('acl', 'whoami')).toBe('default');
  expect(await master?.command('acl', 'users')).toEqual(['default', 'job']);
  await expect(clientOf(master?.url ?? '').get('key')).rejects.toThrow('NOAUTH');
});

test('the pids are those of servers', async () => {
  const masters = await startMasters(5);
  const commands = masters.map(({ pid }) => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  expect(commands.every((command) => /^(redis|valkey)-server/.test(command))).toBe(true);
});

test.each(['unix', 'tcp'] as const)(
  'a proxy before a %s master delays, loses, holds, cuts and refuses',
  async (transport) => {
    const master = await oneMaster(transport);
    const proxy = await FaultyProxy.start(master.url);
    const [client, deaf, mute] = [
      clientOf(proxy.url),
      clientOf(proxy.url, true),
      clientOf(proxy.url, true),
    ] as const;
    for (const each of [client, deaf, mute])
      await eventually('answered', () => each.set('passed', '1').catch(() => null));

    proxy.delay(100);
    const startedAt = performance.now();
    await client.set('delayed', '1');
    expect(performance.now() - startedAt).toBeGreaterThan(95);

    proxy.dropReplies();
    await expect(deaf.set('unanswered', '1')).rejects.toThrow('timed out');
    expect(await master.get('unanswered')).toBe('1');

    proxy.holdRequests();
    await expect(mute.set('held', '1')).rejects.toThrow('timed out');
    expect(await master.get('held')).toBeNull();
    await proxy.pass();
    await expect.poll(() => master.get('held')).toBe('1');

    const closed = new Promise((resolve) => client.once('end', resolve));
    proxy.cut();
    await closed;
    expect(await clientOf(proxy.url).get('passed')).toBe('1');

    await proxy.refuse();
    await expect(clientOf(proxy.url).get('passed')).rejects.toThrow('closed');
    await proxy.pass();
    expect(await clientOf(proxy.url).get('passed')).toBe('1');
    await proxy.stop();
  },
);

test('a port is given once, also where nothing listens on it yet', async () => {
  const ports = new Set<number>();
  for (let count = 1; count <= 120; count += 1) {
    ports.add(await freePort());
    expect(ports.size).toBe(count);
  }
});
