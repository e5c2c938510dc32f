// What histories cost a master, on a real one: a name that ran once, a refusal every minute for a
// month, and more names than there is room for.

import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { renderRun } from '../../src/lock/history.ts';
import type { Claim } from '../../src/lock/types.ts';
import { Calls, type ScriptCall } from '../../src/redis/calls/script-calls.ts';
import { beside } from '../../src/redis/keys.ts';
import { claimOf } from '../contract/world.ts';
import { startMasters, stopAll, type TestMaster } from '../servers/masters.ts';

const [prefix, mb] = ['redlock:', 1024 ** 2];
let master: TestMaster;
let client: Redis;

beforeAll(async () => {
  [master] = (await startMasters(1)) as [TestMaster];
  client = new Redis({ path: master.url.slice('unix://'.length) });
});
beforeEach(() => master.flush());
afterAll(async () => {
  client.disconnect();
  await stopAll();
});

/** A line of usual length. */
const line = renderRun({
  token: 'x'.repeat(27),
  host: 'web1.example.com',
  pid: 12_345,
  user: 'deploy',
  label: 'import-order.sh',
  outcome: 'ran',
  waitMs: 12,
  heldMs: 12_345,
  exitCode: 0,
  signal: null,
  status: 0,
  fence: 1_795_246_262_759_280,
  blocker: null,
});

async function send(calls: readonly ScriptCall[]): Promise<void> {
  for (let from = 0; from < calls.length; from += 1_000) {
    const pipeline = client.pipeline();
    for (const { script, keys, args } of calls.slice(from, from + 1_000))
      pipeline.eval(script, keys.length, ...keys, ...args);
    for (const [error] of (await pipeline.exec()) ?? []) expect(error).toBeNull();
  }
}

const callsFor = (historyBytes: number) => new Calls({ prefix, historyBytes, protocol: 'redlock' });
const ranAs = (resources: string[], historyBytes = 64 * mb) =>
  callsFor(historyBytes).toRelease({
    claim: claimOf('v', { resources }),
    keepMs: 0,
    line,
    keepsPosition: false,
  });
const names = (count: number) => Array.from({ length: count }, (_, at) => `order-${at}-abcdefgh`);
const used = async () =>
  Number(/^used_memory:(\d+)/m.exec(String(await master.command('info', 'memory')))?.[1]);
const isThere = async (name: string) =>
  Number(await master.command('exists', beside(prefix + name, 'runs:history'))) === 1;

test('a name that ran once costs less than 1 KB', async () => {
  await send([ranAs(['first'])]);
  const before = await used();
  await send(names(10_000).map((name) => ranAs([name])));
  expect((await used()) - before).toBeLessThan(10_000 * 1_024);
});

test('beyond the bound the names go first that have not run for longest', async () => {
  await send([ranAs(['often'], mb)]);
  const before = await used();
  const some = names(6_000);
  for (let from = 0; from < some.length; from += 500) {
    await send(some.slice(from, from + 500).map((name) => ranAs([name], mb)));
    await send([ranAs(['often'], mb)]);
    // The order is by the second.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
  }
  // A table of keys that is being moved to another size is there twice, for a moment.
  const grown = async () => (await used()) - before;
  await expect.poll(grown).toBeLessThan(1.1 * mb);
  expect(await isThere('often')).toBe(true);
  expect(await isThere(some[0] ?? '')).toBe(false);
  expect(await isThere(some.at(-1) ?? '')).toBe(true);
  const kept = Number(await master.command('zcard', beside(prefix, 'names:history')));
  expect(kept).toBeGreaterThan(800);
  const keys = await master.keys();
  expect(keys.filter((key) => key.endsWith('}:runs:history'))).toHaveLength(kept);
});

test('one name alone has its oldest lines removed', async () => {
  const long = 'x'.repeat(3_000);
  const { script, keys, args } = ranAs(['a'], mb);
  const call = { script, keys, args: args.map((word) => (word === line ? long : word)) };
  await send(Array.from({ length: 900 }, () => call));
  const count = Number(await master.command('llen', beside(`${prefix}a`, 'runs:history')));
  expect(count * 3_016).toBeLessThan(mb);
  expect(count).toBeGreaterThan(300);
});

test('a refusal every minute for a month, of lasting hosts and of new ones', async () => {
  await send([callsFor(64 * mb).toAcquire(claimOf('holder', { ttlMs: 600_000 }))]);
  const refusal = (at: number): Claim => {
    const host = at % 2 === 0 ? 'web1' : `pod-${at}`;
    return claimOf('v', { skip: { line, host, run: `run${at}`, isRepeated: false } });
  };
  const calls = Array.from({ length: 43_200 }, (_, at) => callsFor(64 * mb).toAcquire(refusal(at)));
  await send(calls);
  const [runs, facts] = [`{${prefix}r}:runs:history`, `{${prefix}r}:facts:history`];
  expect(await master.command('exists', runs)).toBe(0);
  expect(await master.command('memory', 'usage', facts, 'samples', 0)).toBeLessThan(100_000);
  expect(await master.command('hlen', facts)).toBeLessThanOrEqual(101);
  const ofHost = String(await master.command('hget', facts, 'skip web1'));
  expect(Number.parseInt(ofHost, 10)).toBe(21_600);
});

test('what has not changed for thirty days is removed, and its size is forgotten', async () => {
  await send([ranAs(['old'])]);
  const index = beside(prefix, 'names:history');
  const score = Number(await master.command('zscore', index, 'redlock:old'));
  await master.command('zadd', index, score - 31 * 86_400 * 2 ** 21, 'redlock:old');
  await send([ranAs(['new'])]);
  expect(await isThere('old')).toBe(false);
  const size = await master.command('get', index.replace('names', 'size'));
  expect(Number(size)).toBe(Number(await master.command('zscore', index, 'redlock:new')) % 2 ** 21);
});
