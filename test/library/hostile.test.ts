// The library on masters that answer what no script answers: an error of its own, never one of
// JavaScript, and nothing at all where they are a minority.

import { afterEach, expect, test } from 'vitest';
import { grant, HostileMaster } from '../servers/hostile-master.ts';
import { errorOf, redlockOn, untilNothingIsLeft, useMasters } from './rig.ts';

const { masters } = useMasters(3);
const hostile: HostileMaster[] = [];
afterEach(async () => {
  for (const master of hostile.splice(0)) await master.stop();
});

async function answering(reply: string, howMany: number): Promise<HostileMaster[]> {
  const started = await Promise.all(
    Array.from({ length: howMany }, () => HostileMaster.start((_words, nth) => (nth === 0 ? grant() : reply))),
  );
  hostile.push(...started);
  return started;
}

const nonsense = [
  ['nil', '$-1\r\n'],
  ['a nil list', '*-1\r\n'],
  ['a number', ':7\r\n'],
  ['text', '+OK\r\n'],
  ['a fence beyond counting', grant('9000000000000000000')],
] as const;

test.each(nonsense)('%s from a majority: unreachable, with the reason of each', async (_, reply) => {
  const redlock = redlockOn(await answering(reply, 3));
  const lease = await redlock.acquire('job', 9_000, { waitMs: 0 });
  expect((await errorOf(lease.extend())).kind).toBe('unreachable');
  const error = await errorOf(redlock.acquire('other', 9_000, { waitMs: 0 }));
  expect(error.kind).toBe('unreachable');
  expect(error.failures.length).toBeGreaterThanOrEqual(2);
  expect(error.message).toMatch(/^no quorum: "other": .*(unexpected reply|fencing counter)[^\n]*$/);
  await lease.release();
});

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
