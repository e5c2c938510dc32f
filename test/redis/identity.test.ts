// What may stand in the list of masters: independent servers, each once. Addresses prove nothing,
// so the servers are asked; here one server comes in under several names, and replicas pose as
// masters.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseAddress } from '../../src/redis/address.ts';
import { defaultHistoryBytes } from '../../src/redis/calls/script-calls.ts';
import { ServerRegistry } from '../../src/redis/identity.ts';
import { Server } from '../../src/redis/server.ts';
import { FaultyProxy } from '../servers/faulty-proxy.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import {
  clock,
  failed,
  handleOn,
  lasting,
  locksOn,
  newClaim,
  redlockOn,
  untilNothingIsLeft,
} from './rig.ts';

let masters: TestMaster[] = [];
let first: TestMaster;
let second: TestMaster;
let proxy: FaultyProxy;
beforeAll(async () => {
  masters = await startMasters(2, { transport: 'tcp' });
  [first, second] = masters as [TestMaster, TestMaster];
  proxy = await FaultyProxy.start(first.url);
});
beforeEach(() => Promise.all(masters.map((master) => master.flush())));
afterAll(async () => {
  await proxy.stop();
  await stopAll();
  nothingLeft();
});

const twice = /^is the same server as redis:\/\/.*: it would vote twice$/;

test.each([
  ['through another port', () => proxy.url],
  ['by another database', () => `${first.url}/1`],
  ['by another name', () => first.url.replace('127.0.0.1', 'localhost')],
])(
  'the same server twice, %s: misconfigured, named, and nothing is left',
  async (_title, other) => {
    const { redlock, masters: handles } = redlockOn([first, other()]);
    const rejections = await Promise.all(handles.map((handle) => handle.identify()));
    const advice = 'list each server once';
    const misconfigured = {
      kind: 'failed',
      cause: 'misconfigured',
      message: expect.stringMatching(twice),
      advice,
    };
    expect(rejections.filter((failed) => failed !== null)).toEqual([misconfigured]);
    expect(await redlock.attempt(newClaim(), lasting)).toMatchObject({
      kind: 'misconfigured',
      failures: [{ failed: misconfigured }],
    });
    await redlock.settled();
    await untilNothingIsLeft(masters);
    expect(
      await first.command('eval', "redis.call('select', 1) return redis.call('exists', 'r')", 0),
    ).toBe(0);
  },
);

test('13. the same server twice is found by what answers, not by place (S5)', async () => {
  const registry = new ServerRegistry();
  const [one, two] = [handleOn(first, { registry }), handleOn(proxy, { registry })];
  expect(await two.identify()).toBeNull();
  expect(await one.identify()).toMatchObject({ cause: 'misconfigured' });
});

test('13. a replica: misconfigured, named, and nothing is left (S6)', async () => {
  const [replica] = (await startMasters(1, { transport: 'tcp' })) as [TestMaster];
  await replica.command('replicaof', '127.0.0.1', new URL(first.url).port);
  const { redlock } = redlockOn([second, replica]);
  const attempt = await redlock.attempt(newClaim(), lasting);
  const message = expect.stringMatching(/^is a replica/);
  expect(attempt).toMatchObject({
    kind: 'misconfigured',
    failures: [{ master: replica.url, failed: { message } }],
  });
  await redlock.settled();
  await untilNothingIsLeft([second]);
});

test('a server that has restarted is another one, at the same address', async () => {
  const { redlock } = redlockOn([first, second]);
  const claim = newClaim();
  expect((await redlock.attempt(claim, lasting)).kind).toBe('acquired');
  await first.restart();
  await eventually(
    'acquired again',
    async () => (await redlock.attempt(claim, lasting)).kind === 'acquired',
  );
  await redlock.release(claim, 0, null);
  await untilNothingIsLeft(masters);
});

test('a server that does not tell its identity may vote', async () => {
  const user = ['default', 'on', 'nopass', '~*', '&*', '+@all', '-info', '-role'];
  const [silent] = (await startMasters(1, { config: { user } })) as [TestMaster];
  expect(await handleOn(silent).acquire(newClaim(), lasting)).toMatchObject({ kind: 'granted' });
});

test('a master that restarted within the grace does not count, and keeps nothing', async () => {
  const { redlock } = redlockOn(masters, { restartGraceMs: 3_600_000 });
  const attempt = await redlock.attempt(newClaim(), lasting);
  const message = expect.stringMatching(
    /^restarted \d+ s ago .* may have forgotten .*: counts again within 3[56]\d\d s$/,
  );
  const failed = { kind: 'failed', cause: 'restarted', message };
  expect(attempt).toMatchObject({
    kind: 'unreachable',
    failures: expect.arrayContaining([
      expect.objectContaining({ failed: expect.objectContaining(failed) }),
    ]),
  });
  await redlock.settled();
  await untilNothingIsLeft(masters);
});

test('a master that has restarted within the grace refuses all the same', async () => {
  await Promise.all(masters.map((master) => master.command('set', 'r', 'them', 'px', 60_000)));
  const { redlock } = redlockOn(masters, { restartGraceMs: 3_600_000 });
  expect(await redlock.attempt(newClaim(), lasting)).toMatchObject({
    kind: 'busy',
    holder: 'them',
  });
});

test('when the whole grace is over it counts, on the same connection', async () => {
  const handle = handleOn(first, { restartGraceMs: 1_500 });
  // Late in a second, so that its uptime is 1 s soon after: it counts whole seconds of its clock.
  await eventually('late in a second', () => Date.now() % 1_000 > 900);
  const [claim, startedAt] = [newClaim(), performance.now()];
  await first.restart();
  await eventually('in the next second', () => Math.abs((Date.now() % 1_000) - 300) < 100);
  await eventually(
    'granted',
    async () => (await handle.acquire(claim, lasting)).kind === 'granted',
  );
  expect(performance.now() - startedAt).toBeGreaterThan(1_500);
  await handle.release(claim, 0, null);
});

describe('a master that writes each change to its disk, with an hour of restart grace', () => {
  const settings = { restartGraceMs: 3_600_000 };
  const durable = async (config: Record<string, string[]> = {}) => {
    const [master] = (await startMasters(1, { persist: true, config })) as [TestMaster];
    return master;
  };
  const lostIts = failed(
    'restarted',
    /^restarted \d+ s ago and was found without its mark .*: counts again within 3[56]\d\d s$/,
  );

  test('counts at once after a restart with its data, and not with another disk', async () => {
    const master = await durable();
    await master.markLongAgo('');
    await master.restart();
    const granted = await handleOn(master, settings).acquire(newClaim(), lasting);
    expect(granted).toMatchObject({ kind: 'granted' });
    await master.replaceDisk();
    expect(await handleOn(master, settings).acquire(newClaim(), lasting)).toEqual(lostIts);
    // The mark that has just been written is none from before, however often it restarts.
    await master.restart();
    const again = newClaim({ resources: ['s'] });
    expect(await handleOn(master, settings).acquire(again, lasting)).toEqual(lostIts);
    await master.markLongAgo('');
    const later = newClaim({ resources: ['t'] });
    const counted = await handleOn(master, settings).acquire(later, lasting);
    expect(counted).toMatchObject({ kind: 'granted' });
    expect(await locksOn(master)).toEqual(['r', 's', 't']);
  });

  test('counts at once where the user may write no mark, or another key has its name', async () => {
    const user = ['default', 'on', 'nopass', '~*', '&*', '+@all', '-hset'];
    const [silent, wrong] = await Promise.all([durable({ user }), durable()]);
    await wrong.command('set', '{}:mark', 'x');
    for (const master of [silent, wrong]) {
      const reply = await handleOn(master, settings).acquire(newClaim(), lasting);
      expect(reply).toMatchObject({ kind: 'granted' });
    }
  });

  test('writes the mark anew when it is from the future: its clock was set back', async () => {
    const master = await durable();
    await master.command('hset', '{}:mark', 'id', 'ahead', 'since', Date.now() + 86_400_000);
    expect(await handleOn(master, settings).acquire(newClaim(), lasting)).toEqual(lostIts);
    expect(await master.command('hget', '{}:mark', 'id')).toBe('ahead');
    expect(Number(await master.command('hget', '{}:mark', 'since'))).toBeLessThan(
      Date.now() + 3_600_000,
    );
  });

  test('has no mark without a grace, and keeps none of a look', async () => {
    const master = await durable();
    await handleOn(master).acquire(newClaim(), lasting);
    const registry = new ServerRegistry();
    const look = {
      prefix: '',
      historyBytes: defaultHistoryBytes,
      protocol: 'redlock' as const,
      ...settings,
    };
    const observer = new Server(parseAddress(master.url), look, registry, clock, 'look');
    const unmarked = /^restarted \d+ s ago without its mark .*: counts again within 3600 s of the/;
    expect(await observer.restartFailure()).toEqual(failed('restarted', unmarked));
    observer.close();
    expect(await master.keys()).not.toContain('{}:mark');
  });
});
