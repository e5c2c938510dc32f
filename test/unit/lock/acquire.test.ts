// An acquired lock is handed out only while it can be used: see src/lock/acquire.ts.

import { expect, it } from 'vitest';
import { acquireLock, type LockRequest } from '../../../src/lock/acquire.ts';
import type { LockEvent } from '../../../src/lock/ports.ts';
import { type Attempt, alone, type Failed } from '../../../src/lock/types.ts';
import { HandClock, settled } from '../hand-clock.ts';

/** Valid for a second from the attempt; work has to stop 200 ms before that. */
const validMs = 1_000;
const reserveMs = 200;
/** How long the masters take to grant. A server may then take as long three times, and 10 ms. */
const attemptMs = 300;
const lastMomentMs = validMs - reserveMs;

function setUp(given: Partial<LockRequest> = {}, attempts: Attempt[] = []) {
  const clock = new HandClock();
  const log: string[] = [];
  const events: LockEvent[] = [];
  let claimCount = 0;
  const redlock = {
    masterCount: 3,
    attempt: async (claim: object) => {
      const startedAt = clock.now();
      await clock.sleep(attemptMs);
      const lease = { claim, startedAt, validUntil: startedAt + validMs, fence: claimCount };
      return (
        attempts.shift() ?? {
          kind: 'acquired',
          lease,
          grantedCount: 3,
          elapsedMs: attemptMs,
        }
      );
    },
    withKnownFailures: (failures: unknown) => failures,
    release: async ({ value }: { value: string }) => log.push(`release ${value}`),
    settled: async () => {},
  };
  const result = acquireLock({
    redlock: redlock as unknown as LockRequest['redlock'],
    clock,
    random: () => 0,
    report: (event) => events.push(event),
    newClaim: (isWaiting) => {
      claimCount += 1;
      const value = `value ${claimCount}`;
      log.push(`${isWaiting ? 'wait' : 'try'} with ${value}`);
      const token = `token${claimCount}`;
      const own = { resources: ['x'], token, value, ttlMs: validMs, isFenced: true, waiter: null };
      return { ...alone, ...own };
    },
    waiterId: 'waiter',
    waitMs: null,
    giveUpAfterMs: 0,
    servers: [],
    areServersKnown: false,
    reserveMs,
    aborted: new AbortController().signal,
    ...given,
  });
  return { clock, log, events, result };
}

/** A server that says after this many ms, the first time, that it is what `rejection` says. */
function server(clock: () => HandClock, afterMs: number, rejection: Failed | null = null) {
  let isFirst = true;
  const server = {
    name: 'redis://b',
    rejection: null as Failed | null,
    identify: async () => {
      if (isFirst) await clock().sleep(afterMs);
      isFirst = false;
      server.rejection = rejection;
    },
  };
  return server;
}

const replica: Failed = { kind: 'failed', cause: 'reply', message: 'is a replica' };

it('hands out a lock that is acquired in time, and releases nothing', async () => {
  const { clock, log, events, result } = setUp();
  await clock.moveTo(attemptMs);
  expect(await result).toMatchObject({ kind: 'acquired', lease: { fence: 1 } });
  expect(log).toEqual(['wait with value 1']);
  const elapsedMs = attemptMs;
  expect(events).toEqual([{ kind: 'acquired', grantedCount: 3, elapsedMs, waitMs: elapsedMs }]);
});

const again = ['release value 1', 'wait with value 2'];
it.each([
  ['before the last moment', lastMomentMs - 10, 1, lastMomentMs - 10, []],
  ['at the last moment', lastMomentMs, 2, lastMomentMs + attemptMs, again],
])('known servers %s', async (_, knownMs, fence, waitMs, expected) => {
  const servers = [server(() => clock, knownMs - attemptMs)];
  const { clock, log, events, result } = setUp({ servers, waitMs: 5_000 });
  await clock.moveTo(2_000);
  expect(await result).toMatchObject({ kind: 'acquired', lease: { fence } });
  expect(log).toEqual(['wait with value 1', ...expected]);
  // Once, and for the lock that is handed out.
  expect(events).toMatchObject([{ kind: 'acquired', waitMs }]);
});

it('waits no longer than was asked for, in all attempts together', async () => {
  const servers = [server(() => clock, lastMomentMs)];
  const { clock, log, result } = setUp({ servers, waitMs: 500 });
  await clock.moveTo(2_000);
  await result;
  expect(log).toEqual(['wait with value 1', 'release value 1', 'try with value 2']);
});

it('releases a lock that is of no use, and rejects with the reason', async () => {
  const useless = new Error('these masters were replaced');
  const { clock, log, events, result } = setUp({ whyUseless: () => useless });
  const outcome = result.catch((error: unknown) => error);
  await clock.moveTo(attemptMs);
  expect(await outcome).toBe(useless);
  expect(log).toEqual(['wait with value 1', 'release value 1']);
  expect(events).toEqual([]);
});

it('a wait that is aborted after the grant, and too late to use it, releases it', async () => {
  const aborting = new AbortController();
  const servers = [server(() => clock, lastMomentMs)];
  const { clock, log, events, result } = setUp({ servers, aborted: aborting.signal });
  await clock.moveTo(attemptMs);
  await settled();
  aborting.abort();
  await clock.moveTo(2_000);
  expect(await result).toEqual({ kind: 'aborted' });
  expect(log).toEqual(['wait with value 1', 'release value 1']);
  expect(events).toEqual([]);
});

it('returns how a wait ended without the lock', async () => {
  const { clock, log, result } = setUp({}, [{ kind: 'misconfigured', failures: [] }]);
  await clock.moveTo(attemptMs);
  expect(await result).toEqual({ kind: 'misconfigured', failures: [] });
  expect(log).toEqual(['wait with value 1']);
});

it.each([
  ['in time', 3 * attemptMs - attemptMs, 'misconfigured', ['release value 1']],
  ['too late', 3 * attemptMs + 100, 'acquired', []],
])('a server that says %s that it is a replica', async (_, afterMs, kind, expected) => {
  const servers = [server(() => clock, afterMs, replica)];
  const { clock, log, result } = setUp({ servers, reserveMs: 0 });
  await clock.moveTo(2_000);
  expect((await result).kind).toBe(kind);
  expect(log).toEqual(['wait with value 1', ...expected]);
});

it('names every server that must not be in the list', async () => {
  const known = { name: 'redis://a', rejection: replica, identify: async () => {} };
  const servers = [known, { ...known, name: 'redis://b', rejection: null }];
  const { clock, log, result } = setUp({ servers, areServersKnown: true });
  await clock.moveTo(attemptMs);
  expect(await result).toEqual({
    kind: 'misconfigured',
    failures: [{ master: 'redis://a', failed: replica }],
  });
  expect(log).toEqual(['wait with value 1', 'release value 1']);
});

it('gives servers no time that are identified', async () => {
  const servers = [server(() => clock, 10, replica)];
  const { clock, result } = setUp({ servers, areServersKnown: true });
  await clock.moveTo(attemptMs);
  expect((await result).kind).toBe('acquired');
  expect(clock.now()).toBe(attemptMs);
});
