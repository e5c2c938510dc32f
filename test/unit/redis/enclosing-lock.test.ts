// What a nested run makes of what the masters show of the enclosing run's lock: see
// src/redis/enclosing-lock.ts.

import { expect, it } from 'vitest';
import { usualDriftFactor } from '../../../src/lock/quorum.ts';
import type { Lease } from '../../../src/lock/types.ts';
import { EnclosingLock } from '../../../src/redis/enclosing-lock.ts';
import { failed } from '../../../src/redis/errors.ts';
import type { Server } from '../../../src/redis/server.ts';
import type { LockSnapshot } from '../../../src/redis/snapshot.ts';
import { HandClock, settled } from '../hand-clock.ts';

const lasting = new AbortController().signal;
const ttlMs = 10_000;
const nothing: LockSnapshot = {
  type: null,
  value: null,
  remainingMs: null,
  fence: null,
  queue: [],
  holders: [],
  freeze: null,
  endings: [],
};
const shows = (token: string, remainingMs: number): LockSnapshot => ({
  ...nothing,
  type: 'string',
  value: token,
  remainingMs,
});
const silent = failed('timeout', 'no answer');

/** The lock of an enclosing run on masters that show this. */
function enclosed(shown: readonly (LockSnapshot | typeof silent)[], clock = new HandClock()) {
  const observers = shown.map((one, index) => ({
    name: `master ${index}`,
    look: async () => (one === silent ? silent : [one]),
    close: () => {},
  }));
  return new EnclosingLock(
    { names: ['x'], token: 'ours', fence: 7, ttlMs },
    observers as unknown as Server[],
    clock,
    { masterTimeoutMs: 100, reserveMs: 1_000, driftFactor: usualDriftFactor },
    () => {},
  );
}

const limits = { waitMs: 0, giveUpAfterMs: 0, aborted: new AbortController().signal };
/** As it was confirmed a whole ttl ago. */
const old = { startedAt: -ttlMs, claim: { ttlMs } } as Lease;

it.each([
  ['all show it', [shows('ours', 9_000), shows('ours', 8_000), shows('ours', 7_000)], 8_000],
  ['a quorum shows it', [shows('ours', 9_000), shows('ours', 8_000), nothing], 8_000],
  ['one does not answer', [silent, shows('ours', 8_000), shows('ours', 7_000)], 7_000],
  ['one shows more than a ttl', [shows('ours', 99_000), shows('ours', 98_000), nothing], ttlMs],
] as const)('%s: as valid as a quorum says', async (_, shown, leftMs) => {
  const acquisition = await enclosed(shown).acquire(limits);
  if (acquisition.kind !== 'acquired') throw new Error(acquisition.kind);
  expect(acquisition.lease.startedAt).toBe(leftMs - ttlMs);
  expect(acquisition.lease.validUntil).toBeLessThan(leftMs);
  expect(acquisition.lease.fence).toBe(7);
});

it.each([
  ['no quorum shows it', [shows('ours', 9_000), nothing, nothing], 'enclosing-lost'],
  ['it is too short for work', [shows('ours', 900), shows('ours', 900), nothing], 'unreachable'],
  ['only a minority answers', [silent, silent, shows('ours', 9_000)], 'unreachable'],
] as const)('%s: not acquired', async (_, shown, kind) => {
  expect(await enclosed(shown).acquire(limits)).toMatchObject({ kind });
});

it.each([
  ['another value on one master', [shows('theirs', 9_000), nothing, nothing], 'taken'],
  ['no value', [nothing, nothing, shows('ours', 9_000)], 'expired'],
] as const)('%s: an extension says how it was lost', async (_, shown, reason) => {
  expect(await enclosed(shown).extend(old, lasting)).toEqual({ kind: 'lost', reason });
});

it('an extension is one that the enclosing run has made since', async () => {
  const clock = new HandClock();
  const lock = enclosed([shows('ours', 9_000), shows('ours', 9_000), nothing], clock);
  const extension = await lock.extend(old, lasting);
  if (extension.kind !== 'extended') throw new Error(extension.kind);
  expect(extension.lease.startedAt).toBe(-1_000);
  expect(extension.extendedCount).toBe(2);
  const again = lock.extend(extension.lease, lasting);
  await settled();
  await clock.moveTo(100);
  expect(await again).toMatchObject({ kind: 'unreachable' });
});
