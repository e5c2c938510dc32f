// Checks of the behaviour of the library, to which the rows of peers.test.ts refer, on three
// masters that the import of this module starts. A check may change masters; they are restored
// before the next test.

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { AcquireOptions, RedlockOptions } from '../../src/index.ts';
import { environmentFor } from '../cli/rig.ts';
import { eventually } from '../servers/processes.ts';
import { runCli } from '../servers/run-cli.ts';
import {
  collector,
  countOf,
  errorOf,
  redlockOn,
  takeBy,
  untilAborted,
  untilNothingIsLeft,
  useMasters,
} from './rig.ts';

export const { masters } = useMasters(3);

export const take = (options?: AcquireOptions, all?: RedlockOptions) =>
  redlockOn(masters, all).acquire('job', 5_000, options);

/** Acquires and releases; the lock is held on a quorum meanwhile. */
export async function locksAndUnlocks(): Promise<void> {
  const lease = await take();
  expect(await countOf(masters, 'job')).toBeGreaterThan(1);
  expect(await lease.release()).toBe(true);
}

/** How many attempts there are, and how long they take, while another client holds the lock. */
export async function attempts(retries: NonNullable<AcquireOptions['retries']>) {
  await takeBy('them', masters, 'job');
  const { events, onEvent } = collector();
  const beganAt = performance.now();
  expect((await errorOf(take({ retries }, { onEvent }))).kind).toBe('busy');
  return {
    count: events.filter(({ kind }) => kind === 'waiting').length + 1,
    tookMs: performance.now() - beganAt,
  };
}

/** Gets the lock that another client holds, when that client has let it go. */
export async function takesWhenFree(options: AcquireOptions): Promise<void> {
  await takeBy('them', masters, 'job');
  const { events, onEvent } = collector();
  const taken = take(options, { onEvent });
  await eventually('it waits', () => events.some(({ kind }) => kind === 'waiting'));
  await Promise.all(masters.map((master) => master.command('del', 'redlock:job')));
  await (await taken).release();
}

export async function triesOnce(): Promise<void> {
  await takeBy('them', masters, 'job');
  const beganAt = performance.now();
  expect((await errorOf(take({ waitMs: 0 }))).kind).toBe('busy');
  expect(performance.now() - beganAt).toBeLessThan(4_000);
}

export async function countsTries(): Promise<void> {
  expect((await attempts({ count: 3 - 1, delayMs: 10 })).count).toBe(3);
}

export async function pauses(delayMs: number, jitterMs: number): Promise<void> {
  const { tookMs } = await attempts({ count: 2, delayMs, jitterMs });
  expect(tookMs).toBeGreaterThan(2 * delayMs - 5);
  expect(tookMs).toBeLessThan(2 * (delayMs + jitterMs) + 2_000);
}

export async function allowsForDrift(): Promise<void> {
  const lease = await take({ driftFactor: 0.1 });
  expect(lease.validMs).toBeLessThanOrEqual(5_000 - 500 - 2);
  await lease.release();
}

export async function extendsToItsTtl(): Promise<void> {
  const lease = await redlockOn(masters).acquire('job', 5_000);
  await sleep(1_000);
  expect(lease.validMs).toBeLessThan(4_000);
  await lease.extend();
  expect(lease.validMs).toBeGreaterThan(4_000);
  await lease.release();
}

export async function releasesWithoutError(): Promise<void> {
  const lease = await take();
  for (const master of masters) await master.flush();
  expect(await lease.release()).toBe(false); // It is free, though not by us.
  const other = await take({ masterTimeoutMs: 100 });
  for (const master of masters.slice(1)) await master.freeze();
  expect(await other.release()).toBe(false);
  for (const master of masters) master.thaw();
  await untilNothingIsLeft(masters);
}

export async function tellsRemainingTime(): Promise<void> {
  const lease = await take();
  const before = lease.validMs;
  await sleep(100);
  expect(before - lease.validMs).toBeGreaterThan(90);
  expect(Date.now() + lease.validMs).toBeLessThanOrEqual(Date.now() + 4_950);
  await lease.release();
}

export async function tellsNameAndToken(): Promise<void> {
  const lease = await take();
  expect(lease.resource).toBe('job');
  expect((await masters[0]?.get('redlock:job'))?.startsWith(`${lease.token} `)).toBe(true);
  await lease.release();
}

export async function tellsNames(): Promise<void> {
  const lease = await redlockOn(masters).acquire(['b', 'a'], 5_000);
  expect([lease.resource, ...lease.resources]).toEqual(['b', 'b', 'a']);
  await lease.release();
}

export async function locksAllOrNone(): Promise<void> {
  const redlock = redlockOn(masters, { waitMs: 0 });
  const other = await redlock.acquire('b', 5_000);
  expect((await errorOf(redlock.acquire(['a', 'b'], 5_000))).kind).toBe('busy');
  expect(await countOf(masters, 'a')).toBe(0);
  await other.release();
  const both = await redlock.acquire(['a', 'b'], 5_000);
  expect([await countOf(masters, 'a'), await countOf(masters, 'b')]).toEqual([3, 3]);
  await both.release();
}

/** Two holders get the lock with two slots, and the next one does not. */
export async function countsSlots(): Promise<void> {
  const redlock = redlockOn(masters, { waitMs: 0 });
  const leases = await Promise.all(
    [1, 2].map(() => redlock.acquire('job', 5_000, { slots: 2, keepAlive: true })),
  );
  expect((await errorOf(redlock.acquire('job', 5_000, { slots: 2 }))).kind).toBe('busy');
  for (const lease of leases) await lease.release();
}

/** Checks the lock from another process, by its token. */
export async function isTakenOver(): Promise<void> {
  const lease = await take();
  const options = { env: environmentFor(masters), program: 'redlockctl' } as const;
  expect(await runCli(['extend', 'job', '--token', lease.token], options)).toMatchObject({
    code: 0,
  });
  expect(await runCli(['release', 'job', '--token', lease.token], options)).toMatchObject({
    code: 0,
  });
  expect(await errorOf(lease.extend())).toMatchObject({ kind: 'lost', reason: 'expired' });
}

export async function hasTokensOfItsOwn(): Promise<void> {
  const lease = await take({}, { newToken: () => 'of-my-own' });
  expect(await masters[0]?.get('redlock:job')).toMatch(/^of-my-own \{/);
  await lease.release();
}

export async function endsBySignal(): Promise<void> {
  await takeBy('them', masters, 'job');
  expect((await errorOf(take({ signal: AbortSignal.timeout(100) }))).kind).toBe('aborted');
}

export async function runsOut(): Promise<void> {
  const lease = await redlockOn(masters).acquire('job', 2_000, { keepAlive: false });
  await eventually('it runs out', async () => (await countOf(masters, 'job')) === 0);
  expect(lease.validMs).toBe(0);
}

export async function boundsAnswers(): Promise<void> {
  for (const master of masters) await master.freeze();
  const error = await errorOf(take({ giveUpAfterMs: 0 }, { masterTimeoutMs: 0.02 * 5_000 }));
  expect(error.message).toMatch(/no answer within 100 ms/);
  for (const master of masters) master.thaw();
}

export async function nodesFailApart(): Promise<void> {
  const [, second, third] = masters;
  for (const master of [second, third]) await master?.kill();
  const error = await errorOf(take({ giveUpAfterMs: 0 }));
  expect(error).toMatchObject({
    kind: 'unreachable',
    failures: [{ failed: { cause: 'connection' } }, {}],
  });
  for (const master of [second, third]) await master?.restart();
}

export async function keepsAlive(): Promise<void> {
  const redlock = redlockOn(masters);
  const lease = await redlock.acquire('job', 3_000, { keepAlive: true });
  await sleep(3_200);
  expect(lease.validMs).toBeGreaterThan(0);
  await lease.release();
}

export async function usesWithoutPartialLocks(): Promise<void> {
  await takeBy('them', masters.slice(0, 1), 'job', 300);
  const lease = await take({ retries: { count: 3, delayMs: 50 } });
  expect(await lease.release()).toBe(true);
}

export async function firesInTime(): Promise<void> {
  const lease = await redlockOn(masters).acquire('job', 3_000, { reserveMs: 1_500 });
  await untilAborted(lease.signal);
  expect(lease.validMs).toBeGreaterThan(0);
  expect(lease.signal.reason).toMatchObject({ kind: 'lost' });
  await lease.release();
}

export async function usesAndReturns(options?: AcquireOptions): Promise<void> {
  const redlock = redlockOn(masters);
  const work = async (signal: AbortSignal) => {
    await sleep(3_200); // Longer than the ttl.
    return signal.aborted;
  };
  const { keepAlive, ...others } = options ?? {};
  expect(
    await (options ? redlock.using('job', 3_000, others, work) : redlock.using('job', 3_000, work)),
  ).toBe(false);
}

export async function quorumIsThatOfTheList(): Promise<void> {
  await masters[0]?.kill();
  expect(await (await take()).release()).toBe(true);
  await masters[1]?.kill();
  expect((await errorOf(take({ giveUpAfterMs: 0 }))).kind).toBe('unreachable');
  for (const master of masters.slice(0, 2)) await master.restart();
}
