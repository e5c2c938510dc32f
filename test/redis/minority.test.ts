// What a master may be made to hold by others (a value of megabytes, a counter out of reach, a key
// of another type) and what may happen to a connection: each is told as what it is, and on a
// minority of masters it changes nothing.

import { createServer, connect as dial, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import {
  acquireAt,
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
beforeAll(async () => {
  masters = await startMasters(3);
  first = masters[0] as TestMaster;
});
beforeEach(async () => {
  for (const master of masters) await master.flush();
});
afterAll(async () => {
  await stopAll();
  nothingLeft();
});

/** The fence of one lease, by a program of its own. */
async function nextFence(): Promise<number> {
  const { redlock } = redlockOn(masters);
  const attempt = await redlock.attempt(newClaim(), lasting);
  if (attempt.kind !== 'acquired') throw new Error(JSON.stringify(attempt));
  await redlock.release(attempt.lease.claim, 0, null);
  return attempt.lease.fence ?? Number.NaN;
}

describe('a counter that no counting has made', () => {
  const poison = [
    '9000000000000000000',
    '9007199254740992',
    '9007199254740991',
    '-5',
    'abc',
    '1e10',
    '0x10',
    ' 5',
    '',
  ];

  test.each(poison)('%j is not counted from, and says so; nothing is written', async (count) => {
    await first.command('set', '{r}:fence', count);
    const why = failed(
      'reply',
      /^FENCE \{r\}:fence holds no number that counting makes \(delete this key\)$/,
    );
    expect(await acquireAt(first)).toEqual(why);
    expect(
      await handleOn(first).acquire(newClaim({ sharing: { kind: 'shared' } }), lasting),
    ).toEqual(why);
    expect(await first.keys()).toEqual(['{r}:fence']);
    const claim = newClaim();
    await first.command('set', 'r', claim.value, 'px', 60_000);
    expect(await handleOn(first).extend(claim, 7, lasting)).toEqual(why);
    expect(await handleOn(first).repair(claim, 7, lasting)).toEqual(why);
    expect(await first.get('{r}:fence')).toBe(count);
    expect(
      (await handleOn(first).acquire(newClaim({ isFenced: false, resources: ['s'] }), lasting))
        .kind,
    ).toBe('granted');
  });

  test('more than a day ahead of our clock: no vote, and the lock is given back', async () => {
    const [seconds] = (await first.command('time')) as [string];
    await first.command('set', '{r}:fence', String((Number(seconds) + 2 * 86_400) * 1_000_000));
    const { redlock } = redlockOn([first]);
    expect(await redlock.attempt(newClaim(), lasting)).toMatchObject({
      kind: 'unreachable',
      failures: [{ failed: failed('reply', /more than a day ahead of our clock/) }],
    });
    await redlock.settled();
    await untilNothingIsLeft([first]);
  });

  test('less than a day ahead is another clock', async () => {
    const [seconds] = (await first.command('time')) as [string];
    const count = (Number(seconds) + 86_000) * 1_000_000;
    await first.command('set', '{r}:fence', String(count));
    expect(await acquireAt(first)).toEqual({ kind: 'granted', fence: count + 1 });
  });

  test.each([...poison.slice(0, 3), '32503680000000000'])(
    '%s on one master of three stays there, and that one counts again when it is deleted',
    async (count) => {
      const fences = [await nextFence()];
      await first.command('set', '{r}:fence', count);
      for (let round = 0; round < 3; round += 1) fences.push(await nextFence());
      await first.command('del', '{r}:fence');
      for (let round = 0; round < 3; round += 1) fences.push(await nextFence());
      await eventually('all of them count', async () => {
        fences.push(await nextFence());
        const counts = await Promise.all(masters.map((master) => master.get('{r}:fence')));
        return counts.every((one) => Number(one) >= (fences.at(-2) ?? 0));
      });
      expect(fences.every(Number.isSafeInteger)).toBe(true);
      expect(fences.toSorted((a, b) => a - b)).toEqual(fences);
      expect(new Set(fences).size).toBe(fences.length);
      for (const master of masters)
        expect(Number(await master.get('{r}:fence'))).toBeLessThan(2 ** 51);
    },
  );
});

describe('what others hold', () => {
  test('a value of 60 MB is of another holder, at once, and little of it is sent', async () => {
    await first.command(
      'eval',
      "redis.call('set', 'r', string.rep('x', 60000000), 'px', 60000)",
      0,
    );
    const { redlock } = redlockOn([first], { masterTimeoutMs: 10_000 });
    expect(await redlock.attempt(newClaim(), lasting)).toMatchObject({
      kind: 'busy',
      holder: 'x'.repeat(1_024),
    });
    const shared = newClaim({ sharing: { kind: 'shared' } });
    expect(await handleOn(first).acquire(shared, lasting)).toMatchObject({
      holder: 'x'.repeat(1_024),
    });
  });

  test.each(['exclusive', 'shared'] as const)('an empty value is held, %s', async (kind) => {
    await first.command('set', 'r', '', 'px', 60_000);
    const { redlock } = redlockOn([first]);
    expect(await redlock.attempt(newClaim({ sharing: { kind } }), lasting)).toMatchObject({
      kind: 'busy',
      isHeld: true,
      holder: '(an empty value)',
    });
    expect(await first.get('r')).toBe('');
  });

  test.each([
    ['{r}:queue', 'list', 'rpush', ['x']],
    ['{r}:queue', 'string', 'set', ['x']],
    ['{r}:waiters', 'hash', 'hset', ['f', 'x']],
    ['{r}:fence', 'list', 'rpush', ['x']],
  ] as const)('%s of type %s: no vote, and the key is named', async (key, type, command, args) => {
    await first.command(command, key, ...args);
    const claim = newClaim({ waiter: { id: 'us', arrivalUs: 5 } });
    const named = new RegExp(
      `^the key ${key.replace(/[{}]/g, '\\$&')} is a ${type}, which no lock has made \\(delete it`,
    );
    expect(await handleOn(first).acquire(claim, lasting)).toEqual(failed('reply', named));
  });

  test('where TYPE is refused, no key is blamed', async () => {
    await first.command('rpush', '{r}:fence', 'x');
    await first.command('acl', 'setuser', 'default', '-type');
    const reply = await acquireAt(first);
    await first.command('acl', 'setuser', 'default', '+type');
    expect(reply).toEqual(failed('reply', /^WRONGTYPE /));
  });
});

test('scripts that the server has forgotten cost no vote', async () => {
  const { redlock } = redlockOn([first]);
  const forget = () => first.command('script', 'flush');
  for (let round = 0; round < 3; round += 1) {
    const attempt = await redlock.attempt(newClaim(), lasting);
    if (attempt.kind !== 'acquired') throw new Error(attempt.kind);
    await forget();
    expect(await redlock.extend(attempt.lease, lasting)).toMatchObject({ kind: 'extended' });
    await forget();
    expect(await redlock.release(attempt.lease.claim, 0, null)).toMatchObject({
      isConfirmed: true,
      releasedCount: 1,
    });
    await forget();
  }
});

describe('a router that forgets connections', () => {
  /**
   * Passes bytes, until it is told to forget: then the next byte on any connection so far is
   * answered by its end.
   */
  async function router(master: TestMaster) {
    const path = join(scratchFolder(), `router${master.name}${Math.random()}`);
    const target = new URL(master.url).pathname;
    const open = new Set<Socket>();
    const forgotten = new WeakSet<Socket>();
    const server = createServer((client) => {
      const far = dial(target);
      open.add(client);
      client.on('data', (chunk) => (forgotten.has(client) ? client.destroy() : far.write(chunk)));
      far.on('data', (chunk) => client.write(chunk));
      for (const [end, other] of [
        [client, far],
        [far, client],
      ] as const) {
        end.on('error', () => {}); // 'close' follows.
        end.on('close', () => other.destroy());
      }
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    return {
      url: `unix://${path}`,
      forget: () => {
        for (const client of open) forgotten.add(client);
      },
      stop: async () => {
        for (const client of open) client.destroy();
        await new Promise((resolve) => server.close(resolve));
      },
    };
  }

  test.each(['release', 'releaseOnQuorum'] as const)(
    '%s is sent again on a new one',
    async (how) => {
      const routers = await Promise.all(masters.map(router));
      const { redlock } = redlockOn(routers, { masterTimeoutMs: 10_000 });
      const attempt = await redlock.attempt(newClaim(), lasting);
      if (attempt.kind !== 'acquired') throw new Error(attempt.kind);
      // All three have it, so that none is asked for the first time by the release.
      await eventually('set everywhere', async () =>
        (await Promise.all(masters.map(locksOn))).every(({ length }) => length === 1),
      );
      for (const { forget } of routers) forget();
      const released = await redlock[how](attempt.lease.claim, 0, null);
      expect(released).toMatchObject({ isConfirmed: true, missing: null });
      await redlock.settled();
      await untilNothingIsLeft(masters);
      for (const { stop } of routers) await stop();
    },
  );
});
