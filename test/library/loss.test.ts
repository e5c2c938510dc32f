// The loss of a lock: when the signal fires, what the calls reject with, and that no other client
// gets the lock while the work may still go on.

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { eventually } from '../servers/processes.ts';
import {
  collector,
  countOf,
  errorOf,
  isOnEach,
  redlockOn,
  type TestMaster,
  takeBy,
  untilNothingIsLeft,
  useMasters,
} from './rig.ts';

const { masters } = useMasters(3);

/** Works until its signal fires, and returns the reason of the signal. */
function untilAsked(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) =>
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true }),
  );
}

const deletedOn = (some: readonly TestMaster[]) =>
  Promise.all(some.map((master) => master.command('del', 'redlock:job')));

/** Blocks the event loop. */
function block(durationMs: number): void {
  const endAt = performance.now() + durationMs;
  while (performance.now() < endAt);
}

test('frozen masters: the signal fires before validity ends, and using rejects', async () => {
  const redlock = redlockOn(masters);
  let validMs = 0;
  let reason: unknown;
  const error = await errorOf(
    redlock.using('job', 3_000, async (signal, lease) => {
      for (const master of masters) await master.freeze();
      reason = await untilAsked(signal);
      validMs = lease.validMs;
    }),
  );
  for (const master of masters) master.thaw();
  expect(error).toMatchObject({ kind: 'lost', reason: 'unreachable', name: 'RedlockError' });
  expect(error.message).toBe('lost: "job": unreachable: no quorum extended it in time');
  expect(error).toBe(reason);
  expect(validMs).toBeGreaterThan(0);
  expect(validMs).toBeLessThanOrEqual(750);
  await untilNothingIsLeft(masters);
});

test('a minority that freezes changes nothing', async () => {
  const { events, onEvent } = collector();
  const redlock = redlockOn(masters, { onEvent });
  await redlock.using('job', 3_000, async (signal, lease) => {
    await masters[0]?.freeze();
    await sleep(3_500);
    expect(signal.aborted).toBe(false);
    expect(lease.validMs).toBeGreaterThan(0);
  });
  masters[0]?.thaw();
  expect(events.map(({ kind }) => kind)).toEqual(
    expect.arrayContaining(['acquired', 'extended', 'released']),
  );
  await untilNothingIsLeft(masters);
});

test.each([
  [
    'taken',
    () => takeBy('thief', masters, 'job'),
    /taken: masters show the value of another client/,
  ],
  [
    'expired',
    () => Promise.all(masters.map((master) => master.flush())),
    /expired: too few masters/,
  ],
] as const)('%s: a quorum says so, and the signal fires at once', async (why, happens, message) => {
  let validMs = -1;
  const error = await errorOf(
    redlockOn(masters).using('job', 3_000, async (signal, lease) => {
      await happens();
      await untilAsked(signal);
      validMs = lease.validMs;
    }),
  );
  expect(error).toMatchObject({ kind: 'lost', reason: why });
  expect(error.message).toMatch(message);
  expect(validMs).toBe(0);
  if (why === 'taken') expect(await masters[0]?.get('redlock:job')).toBe('thief');
});

test('taken, and the work ends before the next extension: found at the release', async () => {
  const error = await errorOf(
    redlockOn(masters).using('job', 30_000, () => takeBy('thief', masters, 'job')),
  );
  expect(error).toMatchObject({ kind: 'lost', reason: 'taken' });
});

test('an event loop blocked beyond the ttl: lost before any timer fires', async () => {
  const error = await errorOf(redlockOn(masters).using('job', 400, () => block(500)));
  expect(error).toMatchObject({ kind: 'lost', reason: 'suspended' });
  const lease = await redlockOn(masters).acquire('other', 400);
  block(500);
  expect(lease.validMs).toBe(0);
  expect(await errorOf(lease.extend())).toMatchObject({ kind: 'lost', reason: 'suspended' });
  await lease.release();
});

test('a loss beats the result; an error of the work becomes its cause', async () => {
  const mine = new Error('mine');
  const redlock = redlockOn(masters);
  const lost = await errorOf(
    redlock.using('job', 1_000, async (signal) => {
      await Promise.all(masters.map((master) => master.flush()));
      await untilAsked(signal);
      throw mine;
    }),
  );
  expect(lost).toMatchObject({ kind: 'lost', cause: mine });
  const obedient = await errorOf(
    redlock.using('job', 1_000, async (signal) => {
      await Promise.all(masters.map((master) => master.flush()));
      await untilAsked(signal);
      signal.throwIfAborted();
    }),
  );
  expect(obedient.kind).toBe('lost');
  expect(obedient.cause).toBeUndefined();
});

test('without a loss using rejects with the error of the work, and releases the lock', async () => {
  const mine = new Error('mine');
  const redlock = redlockOn(masters);
  await expect(redlock.using('job', 2_000, () => Promise.reject(mine))).rejects.toBe(mine);
  const thrown = redlock.using('job', 2_000, () => {
    throw mine;
  });
  await expect(thrown).rejects.toBe(mine);
  await untilNothingIsLeft(masters);
});

test('work that ignores the signal: using waits for it and releases nothing', async () => {
  const redlock = redlockOn(masters);
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let hasSettled = false;
  let asked: Promise<unknown> | undefined;
  const working = errorOf(
    redlock.using('job', 60_000, (signal) => {
      asked = untilAsked(signal);
      return ended;
    }),
  ).finally(() => {
    hasSettled = true;
  });
  await eventually('the work has begun', () => asked !== undefined);
  const closing = redlock.close();
  await asked;
  await sleep(200);
  expect(hasSettled).toBe(false);
  await isOnEach(masters, 'job');
  end();
  expect(await working).toMatchObject({ kind: 'lost', reason: 'closed' });
  await closing;
  await untilNothingIsLeft(masters);
});

test('a lease that is not extended: its signal fires reserveMs before the end', async () => {
  const redlock = redlockOn(masters, { reserveMs: 1_500 });
  const lease = await redlock.acquire('job', 2_500);
  await untilAsked(lease.signal);
  expect(lease.signal.reason).toMatchObject({ kind: 'lost', reason: 'expired' });
  expect(lease.validMs).toBeGreaterThan(0);
  expect(lease.validMs).toBeLessThanOrEqual(1_500);
  expect(await errorOf(lease.extend())).toBe(lease.signal.reason);
  expect(await lease.release()).toBe(true);
});

test('an extension without a quorum keeps the validity and may be repeated', async () => {
  const { events, onEvent } = collector();
  const lease = await redlockOn(masters, { masterTimeoutMs: 100, onEvent }).acquire('job', 5_000);
  for (const master of masters.slice(1)) await master.freeze();
  const error = await errorOf(lease.extend());
  expect(error.kind).toBe('unreachable');
  expect(error.message).toMatch(
    /^not extended: "job": .*no answer within 100 ms.* \(valid for another \d+ ms; try again\)$/,
  );
  expect(error.failures).toHaveLength(2);
  expect(lease.validMs).toBeGreaterThan(3_000);
  expect(lease.signal.aborted).toBe(false);
  for (const master of masters) master.thaw();
  await lease.extend();
  expect(lease.validMs).toBeGreaterThan(4_500);
  const told = events.filter(({ kind }) => kind.startsWith('exten'));
  const isPlausible = (ms: number) => ms >= 0 && ms < 5_000;
  expect(told).toEqual([
    expect.objectContaining({ kind: 'extension-failed' }),
    expect.objectContaining({ kind: 'extended', elapsedMs: expect.toSatisfy(isPlausible) }),
  ]);
  await lease.release();
});

test('release: once for any number of calls; then extend rejects', async () => {
  const lease = await redlockOn(masters).acquire('job', 2_000, { keepAlive: true });
  // Also on the master that was not needed for a quorum, here and below.
  await isOnEach(masters, 'job');
  const [first, second] = [lease.release(), lease.release()];
  expect(await first).toBe(true);
  expect(await second).toBe(true);
  expect(lease.signal.aborted).toBe(false);
  expect(lease.validMs).toBe(0);
  await untilNothingIsLeft(masters);
  for (const master of masters) await master.command('config', 'resetstat');
  expect(await errorOf(lease.extend())).toMatchObject({ kind: 'lost', reason: 'released' });
  await sleep(1_000);
  for (const master of masters)
    expect(await master.command('info', 'commandstats')).not.toContain('cmdstat_eval:');
});

test('release without a quorum: resolves with false, in time, with an event', async () => {
  const { events, onEvent } = collector();
  const lease = await redlockOn(masters, { onEvent, masterTimeoutMs: 200 }).acquire('job', 4_000);
  for (const master of masters.slice(1)) await master.freeze();
  const beganAt = performance.now();
  expect(await lease.release()).toBe(false);
  expect(performance.now() - beganAt).toBeLessThan(3_000);
  const last = events.at(-1);
  const remainingMs = last?.kind === 'release-unconfirmed' ? last.remainingMs : Number.NaN;
  expect(remainingMs).toBeGreaterThan(0);
  expect(remainingMs).toBeLessThan(4_000);
  for (const master of masters) master.thaw();
  await untilNothingIsLeft(masters);
});

test.each([
  ['another client has it on a quorum', () => takeBy('thief', masters.slice(1), 'job'), false],
  ['it is on too few masters', () => deletedOn(masters.slice(1)), false],
  ['another client has it on a minority', () => takeBy('thief', masters.slice(2), 'job'), true],
  ['it is missing on a minority', () => deletedOn(masters.slice(2)), true],
] as const)('release, where %s: resolves with whether it was ours', async (_, happens, isOurs) => {
  const { events, onEvent } = collector();
  const lease = await redlockOn(masters, { onEvent }).acquire('job', 30_000);
  await isOnEach(masters, 'job');
  await happens();
  expect(await lease.release()).toBe(isOurs);
  expect(events.map(({ kind }) => kind).includes('released')).toBe(isOurs);
  await deletedOn(masters);
});

test('release of a lease that has run out: false, also while another client has it', async () => {
  const { events, onEvent } = collector();
  const lease = await redlockOn(masters, { onEvent }).acquire('job', 300);
  const next = await redlockOn(masters).acquire('job', 30_000, { waitMs: 30_000 });
  expect(lease.validMs).toBe(0);
  expect(await lease.release()).toBe(false);
  expect(events.map(({ kind }) => kind)).not.toContain('released');
  // The third may have had the first one still when it was asked.
  expect(await countOf(masters, 'job')).toBeGreaterThanOrEqual(2);
  expect(await next.release()).toBe(true);
});

test('a lock that is left to expire stays on the masters until then', async () => {
  const redlock = redlockOn(masters, { reserveMs: 100 });
  await redlock.acquire('once-an-hour', 2_500);
  await sleep(1_000);
  await isOnEach(masters, 'once-an-hour');
  const next = await redlock.acquire('once-an-hour', 1_000);
  await next.release();
});

test('close: ends waits, and waits for held locks until their validity ends', async () => {
  const redlock = redlockOn(masters);
  const lease = await redlock.acquire('job', 3_000, { keepAlive: true });
  const waiting = errorOf(redlock.acquire('job', 3_000));
  await sleep(100);
  const beganAt = performance.now();
  await redlock.close();
  const tookMs = performance.now() - beganAt;
  expect(tookMs).toBeGreaterThan(1_000);
  expect(tookMs).toBeLessThan(6_000);
  expect((await waiting).kind).toBe('aborted');
  expect(lease.signal.reason).toMatchObject({ kind: 'lost', reason: 'closed' });
  await sleep(100); // The connections have ended, and none is made for this.
  expect(await lease.release()).toBe(false);
  expect(await errorOf(redlock.acquire('job', 1_000))).toMatchObject({
    kind: 'aborted',
    message: 'aborted: "job": this Redlock was closed',
  });
  await untilNothingIsLeft(masters); // They let it go by themselves.
});
