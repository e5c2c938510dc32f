// The library on masters with impossible answers: a majority causes a RedlockError, never a
// TypeError, and a minority changes nothing.

import { Redis } from 'ioredis';
// @ts-expect-error It has no types of its own.
import Redis4 from 'ioredis-4';
import { Redis as Redis5 } from 'ioredis-5';
import { expect, test } from 'vitest';
import {
  behind,
  grant,
  type HostileMaster,
  refusal,
  startHostile,
  strangeReplies,
  toScripts,
} from '../servers/hostile-master.ts';
import { hasFewFiles } from '../servers/open-files.ts';
import { clientsOf, errorOf, redlockOn, untilNothingIsLeft, useMasters } from './rig.ts';

const { masters } = useMasters(3);

async function answering(reply: string, howMany: number): Promise<HostileMaster[]> {
  const grantsOnce = () => startHostile(toScripts((_words, nth) => (nth === 0 ? grant() : reply)));
  return Promise.all(Array.from({ length: howMany }, grantsOnce));
}

const nonsense = [
  ['nil', '$-1\r\n'],
  ['a nil list', '*-1\r\n'],
  ['a number', ':7\r\n'],
  ['text', '+OK\r\n'],
  ['a fence beyond counting', grant('9000000000000000000')],
] as const;

test.each(nonsense)(
  '%s from a majority: unreachable, with the reason of each',
  async (_, reply) => {
    const redlock = redlockOn(await answering(reply, 3));
    const lease = await redlock.acquire('job', 9_000, { waitMs: 0 });
    expect((await errorOf(lease.extend())).kind).toBe('unreachable');
    const error = await errorOf(redlock.acquire('other', 9_000, { waitMs: 0 }));
    expect(error.kind).toBe('unreachable');
    expect(error.failures.length).toBeGreaterThanOrEqual(2);
    expect(error.message).toMatch(
      /^no quorum: "other": .*(unexpected reply|fencing counter)[^\n]*$/,
    );
    await lease.release();
  },
);

test.each(nonsense)('%s from one of three changes nothing', async (_, reply) => {
  const redlock = redlockOn([...(await answering(reply, 1)), ...masters.slice(0, 2)]);
  for (let round = 0; round < 3; round += 1) {
    const lease = await redlock.acquire('job', 9_000, { waitMs: 0 });
    expect(lease.fence).toSatisfy(Number.isSafeInteger);
    await lease.extend();
    expect(await lease.release()).toBe(true);
  }
  await untilNothingIsLeft(masters);
});

test('masters that have forgotten every script', async () => {
  const redlock = redlockOn(masters);
  const forget = () => Promise.all(masters.map((master) => master.command('script', 'flush')));
  for (let round = 0; round < 4; round += 1) {
    const lease = await redlock.acquire('job', 9_000, { waitMs: 0 });
    await forget();
    await lease.extend();
    await forget();
    expect(await lease.release()).toBe(true);
    await forget();
  }
});

test.skipIf(hasFewFiles).each([
  ['its own', null],
  ['ioredis 4', Redis4 as unknown as typeof Redis],
  ['ioredis 5', Redis5 as unknown as typeof Redis],
  ['ioredis 6', Redis],
] as const)(
  '%s: a wait beside a master that sends nonsense to a subscriber ends well',
  async (_, Client) => {
    const waits = Object.entries(strangeReplies).map(async ([name, bytes]) => {
      const hostile = await startHostile(
        behind((args) => (/^eval$/i.test(args[0] ?? '') ? refusal() + bytes : bytes || '+OK\r\n')),
      );
      // The library does not protect the client itself, which is lent before it connects.
      const source = Client ? clientsOf([hostile], { lazyConnect: true }, Client) : [hostile];
      const holder = redlockOn(masters.slice(0, 2));
      const lease = await holder.acquire(name, 60_000);
      const waiter = redlockOn([...masters.slice(0, 2), ...source]);
      expect((await errorOf(waiter.acquire(name, 60_000, { waitMs: 1_500 }))).kind, name).toBe(
        'busy',
      );
      const next = waiter.acquire(name, 60_000);
      expect(await lease.release(), name).toBe(true);
      expect(await (await next).release(), name).toBe(true);
    });
    await Promise.all(waits);
    await untilNothingIsLeft(masters);
  },
);
