// An acquired lock is handed out only while it can be used: see src/lock/acquire.ts.

import { expect, it } from 'vitest';
import { type AcquireLimits, type AcquireParts, acquire } from '../../../src/lock/acquire.ts';
import type { LockEvent } from '../../../src/lock/ports.ts';
import { alone, type Failed } from '../../../src/lock/types.ts';
import type { Acquisition } from '../../../src/lock/wait.ts';
import { HandClock, settled } from '../hand-clock.ts';

/** Valid for a second from the attempt; work has to stop 200 ms before that. */
const validMs = 1_000;
const reserveMs = 200;
const lastMomentMs = validMs - reserveMs;

function setUp(parts: Partial<AcquireParts> = {}, limits: Partial<AcquireLimits> = {}) {
  const clock = new HandClock();
  const log: string[] = [];
  const told: LockEvent[] = [];
  const aborting = new AbortController();
  let attempt = 0;
  const granted = (): Acquisition => {
    attempt += 1;
    const startedAt = clock.now();
    const claim = {
      ...alone,
      resources: ['x'],
      token: `token${attempt}`,
      value: `value ${attempt}`,
      ttlMs: validMs,
      isFenced: true,
      waiter: null,
    };
    const lease = { claim, startedAt, validUntil: startedAt + validMs, fence: attempt };
    return { kind: 'acquired', lease, grantedCount: 3, elapsedMs: 20 };
  };
  const result = acquire(
    {
      clock,
      report: (event) => told.push(event),
      servers: [],
      wait: async (waitMs) => {
        log.push(`wait ${waitMs}`);
        return granted();
      },
      release: async ({ value }) => log.push(`release ${value}`),
      ready: async () => null,
      ...parts,
    },
    { waitMs: null, aborted: aborting.signal, reserveMs, isIdentifying: true, ...limits },
  );
  return { clock, log, told, aborting, result };
}

/** An answer that each call resolves later: after so many ms for the first, for the second... */
function after(clock: () => HandClock, ...durationsMs: number[]) {
  return async () => {
    await clock().sleep(durationsMs.shift() ?? 0);
    return null;
  };
}

it('hands out a lock that is ready in time, and releases nothing', async () => {
  const { log, told, result } = setUp();
  expect(await result).toMatchObject({ kind: 'acquired', lease: { fence: 1 } });
  expect(log).toEqual(['wait null']);
  expect(told).toEqual([{ kind: 'acquired', grantedCount: 3, elapsedMs: 20, waitMs: 0 }]);
});

it.each([
  ['before the last moment', lastMomentMs - 10, 1, ['wait 5000']],
  ['at the last moment', lastMomentMs, 2, ['wait 5000', 'release value 1', 'wait 4200']],
])('ready %s', async (_, readyMs, fence, expected) => {
  const parts = { ready: after(() => clock, readyMs) };
  const { clock, log, told, result } = setUp(parts, { waitMs: 5_000 });
  await settled();
  await clock.moveTo(2_000);
  expect(await result).toMatchObject({ kind: 'acquired', lease: { fence } });
  expect(log).toEqual(expected);
  // Once, and for the lock that is handed out.
  expect(told).toMatchObject([{ kind: 'acquired', waitMs: readyMs }]);
});

it('never waits for less than no time', async () => {
  const { clock, log, result } = setUp({ ready: after(() => clock, 900) }, { waitMs: 500 });
  await settled();
  await clock.moveTo(2_000);
  await result;
  expect(log).toEqual(['wait 500', 'release value 1', 'wait 0']);
});

it('releases the lock and tells why work cannot start', async () => {
  const { log, told, result } = setUp({ ready: async () => 'there is no guard' });
  expect(await result).toEqual({ kind: 'not-ready', why: 'there is no guard' });
  expect(log).toEqual(['wait null', 'release value 1']);
  expect(told).toEqual([]);
});

it('does not await what gets ready when the wait is aborted, and releases the lock', async () => {
  const { aborting, log, told, result } = setUp({ ready: () => new Promise(() => {}) });
  await settled();
  expect(log).toEqual(['wait null']);
  aborting.abort();
  expect(await result).toEqual({ kind: 'aborted' });
  expect(log).toEqual(['wait null', 'release value 1']);
  expect(told).toEqual([]);
});

it('tells of a wait that ended without the lock as it is', async () => {
  const unreachable: Acquisition = { kind: 'unreachable', failures: [], gaveUpAfterMs: null };
  const { log, result } = setUp({ wait: async () => unreachable });
  expect(await result).toBe(unreachable);
  expect(log).toEqual([]);
});

const replica: Failed = { kind: 'failed', cause: 'reply', message: 'is a replica' };

/** A server that says after so many ms that it is a replica. */
function lateReplica(clock: () => HandClock, afterMs: number) {
  const server = {
    name: 'redis://b',
    rejection: null as Failed | null,
    identify: async () => {
      await clock().sleep(afterMs);
      server.rejection = replica;
    },
  };
  return server;
}

// The quorum took 20 ms, so a server has 3 * 20 + 10 ms.
it.each([
  ['in time', 60, 'misconfigured', ['wait null', 'release value 1']],
  ['too late', 80, 'acquired', ['wait null']],
])('a server that says %s that it is a replica', async (_, afterMs, kind, expected) => {
  const { clock, log, result } = setUp({ servers: [lateReplica(() => clock, afterMs)] });
  await settled();
  await clock.moveTo(200);
  expect((await result).kind).toBe(kind);
  expect(log).toEqual(expected);
});

it('names every server that must not be in the list', async () => {
  const server = { name: 'redis://a', rejection: replica, identify: async () => {} };
  const servers = [server, { ...server, name: 'redis://b', rejection: null }];
  const { log, result } = setUp({ servers }, { isIdentifying: false });
  expect(await result).toEqual({
    kind: 'misconfigured',
    failures: [{ master: 'redis://a', failed: replica }],
  });
  expect(log).toEqual(['wait null', 'release value 1']);
});

it('gives servers no time where that is not wanted', async () => {
  const { clock, result } = setUp(
    { servers: [lateReplica(() => clock, 10)] },
    { isIdentifying: false },
  );
  expect((await result).kind).toBe('acquired');
  expect(clock.now()).toBe(0);
});
