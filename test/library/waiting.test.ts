// Waiting for a lock in the library: the order, the limits, the errors and the options of a call.

import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { AcquireOptions, RedlockOptions } from '../../src/index.ts';
import { generous } from '../servers/patience.ts';
import {
  errorOf,
  isOnEach,
  locksOn,
  redlockOn,
  takeBy,
  untilNothingIsLeft,
  useMasters,
} from './rig.ts';

const { masters } = useMasters(3);
afterEach(() => untilNothingIsLeft(masters));

test('one after the other, in the order of arrival', async () => {
  const redlock = redlockOn(masters);
  const lease = await redlock.acquire('job', 30_000);
  const queueLengths = () =>
    Promise.all(masters.map((master) => master.command('zcard', '{redlock:job}:queue')));
  const order: number[] = [];
  let isBusy = false;
  const workers: Promise<void>[] = [];
  for (let index = 0; index < 7; index += 1) {
    const work = redlock.using('job', 30_000, async () => {
      expect(isBusy).toBe(false);
      isBusy = true;
      await sleep(50);
      order.push(index);
      isBusy = false;
    });
    workers.push(work);
    await expect.poll(queueLengths).toEqual([index + 1, index + 1, index + 1]);
  }
  await lease.release();
  await Promise.all(workers);
  expect(order).toEqual([0, 1, 2, 3, 4, 5, 6]);
});

test('waitMs 0 tries once: busy names the holder, and nothing is queued', async () => {
  const holder = redlockOn(masters, { label: 'the-holder' });
  const lease = await holder.acquire('job', 5_000);
  const error = await errorOf(redlockOn(masters).acquire('job', 5_000, { waitMs: 0 }));
  expect(error).toMatchObject({ kind: 'busy', name: 'RedlockError', failures: [], reason: null });
  expect(error.message).toMatch(
    new RegExp(
      String.raw`^busy: "job": held by .+@.+, pid \d+, the-holder, since 20.*; ` +
        String.raw`lease ends in .* unless extended \(raise waitMs\)$`,
    ),
  );
  const counted = { retries: { count: 1, delayMs: 1 } };
  const refused = await errorOf(redlockOn(masters).acquire('job', 5_000, counted));
  expect(refused.message).toMatch(/ \(raise retries\.count\)$/);
  expect(error.holder).toMatch(new RegExp(`^${lease.token} `));
  expect(error.freeInMs).toBeGreaterThan(4_000);
  await lease.release();
});

test('waitMs bounds the wait', async () => {
  await takeBy('them', masters, 'job');
  const beganAt = performance.now();
  expect((await errorOf(redlockOn(masters).acquire('job', 5_000, { waitMs: 400 }))).kind).toBe(
    'busy',
  );
  expect(performance.now() - beganAt).toBeGreaterThan(390);
  expect(performance.now() - beganAt).toBeLessThan(generous(4_000));
  for (const master of masters) await master.flush();
});

test('a signal ends the wait, with its reason as the cause; what is held stays held', async () => {
  const redlock = redlockOn(masters);
  const lease = await redlock.acquire('job', 5_000);
  const giving = new AbortController();
  const waiting = errorOf(redlock.acquire('job', 5_000, { signal: giving.signal }));
  await sleep(300);
  giving.abort('enough');
  expect(await waiting).toMatchObject({ kind: 'aborted', cause: 'enough' });
  expect((await errorOf(redlock.acquire('job', 5_000, { signal: AbortSignal.abort() }))).kind).toBe(
    'aborted',
  );
  expect(await Promise.all(masters.map(locksOn))).toEqual(masters.map(() => ['redlock:job']));
  await lease.release();
  const late = new AbortController();
  const other = await redlock.acquire('job', 5_000, { signal: late.signal });
  late.abort();
  expect(other.signal.aborted).toBe(false);
  await isOnEach(masters, 'job');
  await other.release();
});

test('any number of waits under one signal: no warning of Node, and no listener left', async () => {
  const warnings = vi.fn();
  process.on('warning', warnings);
  const giving = new AbortController();
  setMaxListeners(10, giving.signal);
  const removed = vi.spyOn(giving.signal, 'removeEventListener');
  const redlock = redlockOn(masters);
  const lease = await redlock.acquire('job', 5_000, { signal: giving.signal });
  const waiting = Array.from({ length: 20 }, () =>
    errorOf(redlock.acquire('job', 5_000, { signal: giving.signal })),
  );
  await sleep(300);
  giving.abort();
  for (const error of await Promise.all(waiting)) expect(error.kind).toBe('aborted');
  expect(removed).toHaveBeenCalledTimes(21);
  await lease.release();
  process.off('warning', warnings);
  expect(warnings).not.toHaveBeenCalled();
});

describe('retries instead of a wait', () => {
  /** The instants of the attempts that were refused, and the error. */
  async function attempts(retries: NonNullable<AcquireOptions['retries']>) {
    await takeBy('them', masters, 'job');
    const beganAt = performance.now();
    const instants: number[] = [];
    const onEvent: RedlockOptions['onEvent'] = ({ kind }) => {
      if (kind === 'waiting') instants.push(performance.now() - beganAt);
    };
    const error = await errorOf(redlockOn(masters, { onEvent }).acquire('job', 5_000, { retries }));
    const tookMs = performance.now() - beganAt;
    expect(error.kind).toBe('busy');
    expect((await locksOn(masters[0] as never)).sort()).toEqual(['redlock:job']);
    for (const master of masters) await master.flush();
    return { count: instants.length + 1, tookMs };
  }

  test('count 0 tries once; count 3 four times, with the delay between them', async () => {
    expect(await attempts({ count: 0 })).toMatchObject({ count: 1 });
    const { count, tookMs } = await attempts({ count: 3, delayMs: 100 });
    expect(count).toBe(4);
    expect(tookMs).toBeGreaterThan(295);
    expect(tookMs).toBeLessThan(generous(4_000));
  });

  test('jitter is added; the delay may depend on the number of attempts', async () => {
    const { tookMs } = await attempts({ count: 10, delayMs: 0, jitterMs: 60 });
    expect(tookMs).toBeGreaterThan(60);
    const told: number[] = [];
    const delayMs = (attemptCount: number) => {
      told.push(attemptCount);
      return 10 * attemptCount;
    };
    await attempts({ count: 3, delayMs });
    expect(told).toEqual([1, 2, 3]);
  });

  test('a delay that is not a duration is a mistake, and no busy loop', async () => {
    await takeBy('them', masters, 'job');
    const asking = redlockOn(masters).acquire('job', 5_000, {
      retries: { count: 3, delayMs: () => Number.NaN },
    });
    expect(await errorOf(asking)).toMatchObject({
      kind: 'usage',
      message: expect.stringMatching(/returned NaN/),
    });
    for (const master of masters) await master.flush();
  });
});

describe('no quorum', () => {
  test('is never busy, and giveUpAfterMs limits the retries', async () => {
    for (const master of masters.slice(1)) await master.kill();
    const redlock = redlockOn(masters);
    const beganAt = performance.now();
    const error = await errorOf(redlock.acquire('job', 5_000, { waitMs: 0 }));
    expect(performance.now() - beganAt).toBeLessThan(9_000);
    expect(error).toMatchObject({ kind: 'unreachable', holder: null });
    expect(error.message).toMatch(
      /^no quorum: "job": unix:.*(no such socket|connection refused) \(start the server, .*\)$/,
    );
    expect(error.failures).toHaveLength(2);
    const late = await errorOf(redlock.acquire('job', 5_000, { giveUpAfterMs: 600 }));
    expect(late).toMatchObject({
      kind: 'unreachable',
      message: expect.stringMatching(/^no quorum: "job": gave up after 600ms \(giveUpAfterMs\): u/),
    });
    expect(performance.now() - beganAt).toBeGreaterThan(600);
    for (const master of masters.slice(1)) await master.restart();
  });

  test('masterTimeoutMs bounds each master; a later grant does not count', async () => {
    for (const master of masters) await master.freeze();
    const beganAt = performance.now();
    const asking = errorOf(
      redlockOn(masters).acquire('job', 5_000, { masterTimeoutMs: 100, giveUpAfterMs: 0 }),
    );
    expect((await asking).message).toMatch(/no answer within 100 ms/);
    expect(performance.now() - beganAt).toBeLessThan(9_000);
    for (const master of masters) master.thaw();
  });
});

test('driftFactor shortens the validity, and reserveMs makes the signal fire earlier', async () => {
  const redlock = redlockOn(masters);
  const usual = await redlock.acquire('a', 10_000);
  const careful = await redlock.acquire('b', 10_000, { driftFactor: 0.2 });
  expect(usual.validMs).toBeGreaterThan(9_700);
  expect(usual.validMs).toBeLessThanOrEqual(9_898);
  expect(careful.validMs).toBeGreaterThan(7_800);
  expect(careful.validMs).toBeLessThanOrEqual(7_998);
  await careful.extend();
  expect(careful.validMs).toBeLessThanOrEqual(7_998);
  await Promise.all([usual.release(), careful.release()]);
});

test('fence: larger for every later holder, and null with fence: false', async () => {
  const redlock = redlockOn(masters);
  const fences = [];
  for (let turn = 0; turn < 5; turn++) {
    fences.push(await redlock.using('job', 2_000, (_signal, lease) => Number(lease.fence)));
  }
  expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
  expect(
    await redlock.using('job', 2_000, { fence: false }, (_signal, lease) => lease.fence),
  ).toBeNull();
});

test('newToken: the keys show its tokens; the same token twice is refused', async () => {
  let count = 0;
  const redlock = redlockOn(masters, { newToken: () => `token-number-${++count}`, label: 'me' });
  const lease = await redlock.acquire('job', 2_000);
  expect(lease.token).toBe('token-number-1');
  expect(await masters[0]?.get('redlock:job')).toMatch(/^token-number-1 \{.*"label":"me"\}$/);
  await lease.release();
  const constant = redlockOn(masters, { newToken: () => 'always-the-same' });
  await (await constant.acquire('job', 2_000)).release();
  expect(await errorOf(constant.acquire('job', 2_000))).toMatchObject({
    kind: 'usage',
    message: expect.stringMatching(/same token twice/),
  });
  const spaced = redlockOn(masters, { newToken: () => 'with white space' });
  expect(await errorOf(spaced.acquire('job', 2_000))).toMatchObject({
    kind: 'usage',
    message: expect.stringMatching(/white space/),
  });
});

test('an error of onEvent is an uncaught exception, and the lock goes on', async () => {
  const heard = vi.fn();
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', heard);
  const onEvent = () => {
    throw new Error('of the onlooker');
  };
  expect(await redlockOn(masters, { onEvent }).using('job', 2_000, () => 'done')).toBe('done');
  process.removeAllListeners('uncaughtException');
  for (const listener of others) process.on('uncaughtException', listener);
  expect(heard.mock.calls[0]?.[0]).toMatchObject({ message: 'of the onlooker' });
});

test('an option of a call that is undefined leaves that of the Redlock', async () => {
  await takeBy('them', masters, 'job');
  const redlock = redlockOn(masters, { waitMs: 0 });
  expect((await errorOf(redlock.acquire('job', 2_000, { waitMs: undefined }))).kind).toBe('busy');
  for (const master of masters) await master.flush();
});

describe('mistakes are refused before anything is sent', () => {
  test.each([
    [{ retryCount: 3 }, /^option: "retryCount": unknown \(there are waitMs, /],
    [{ waitMS: 3 }, /did you mean waitMs\?/],
    [
      { waitMs: -1 },
      /^option: "waitMs": "-1" will not do \(write milliseconds, or null for ever\)$/,
    ],
    [{ waitMs: '10s' }, /will not do/],
    [{ masterTimeoutMs: 0 }, /more than 0/],
    [{ driftFactor: 1 }, /from 0 to below 1/],
    [{ retries: { count: -1 } }, /^option: "retries.count": "-1" will not do/],
    [{ retries: {} }, /"retries.count": missing/],
    [{ retries: { count: 1, tries: 2 } }, /"retries.tries": unknown/],
  ])('%j', async (options, message) => {
    expect(() => redlockOn(masters, options as RedlockOptions)).toThrow(message);
    const call = redlockOn(masters).acquire('job', 2_000, options as AcquireOptions);
    expect(await errorOf(call)).toMatchObject({
      kind: 'usage',
      message: expect.stringMatching(message),
    });
  });

  test.each([
    ['', 2_000, {}, /^resource: "": empty/],
    ['job', 0, {}, /^ttl: 0: not a time to live/],
    ['job', 0.5, {}, /not a time to live/],
    ['job', Number.NaN, {}, /not a time to live/],
    ['job', 100_000_000, {}, /from 1 to a day/],
    [
      'job',
      100,
      { masterTimeoutMs: 90 },
      /^timings: ttl 100 ms, .* could run out before a master has answered/,
    ],
    ['job', 150, { keepAlive: true }, /no time for two extensions/],
    ['job', 2_000, { signal: {} as AbortSignal }, /write an AbortSignal/],
  ])('%j %d %j', async (resource, ttlMs, options, message) => {
    const call = redlockOn(masters).acquire(resource, ttlMs, options);
    expect(await errorOf(call)).toMatchObject({
      kind: 'usage',
      message: expect.stringMatching(message),
    });
  });

  test('using without a function', async () => {
    expect(await errorOf(redlockOn(masters).using('job', 2_000, {} as never))).toMatchObject({
      kind: 'usage',
    });
  });
});
