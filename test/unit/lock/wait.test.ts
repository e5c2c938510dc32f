// When a wait ends: see src/lock/wait.ts. The masters are answers in a list.

import { expect, test } from 'vitest';
import { renderFreeze } from '../../../src/lock/people.ts';
import type { Redlock } from '../../../src/lock/redlock.ts';
import { type Attempt, alone, type Claim, type Sharing } from '../../../src/lock/types.ts';
import { waitForLock } from '../../../src/lock/wait.ts';
import { heldAroundOf } from '../../../src/text/held-locks.ts';
import { HandClock } from '../hand-clock.ts';

const record = JSON.stringify({ host: 'h', pid: 1, user: 'u', since: 's', label: 'l' });
const claim: Claim = {
  ...alone,
  resources: ['a'],
  token: 't',
  value: 'v',
  ttlMs: 1_000,
  isFenced: false,
  waiter: null,
};
const lease = { claim, startedAt: 0, validUntil: 1_000, fence: null };
const free: Attempt = { kind: 'acquired', lease, grantedCount: 3, elapsedMs: 0 };
const busyBy = (token: string, isHeld = true) => busyWith(`${token} ${record}`, isHeld);
const busyWith = (holder: string, isHeld = true): Attempt => ({
  kind: 'busy',
  holder,
  holderCount: holder === '' ? 0 : 1,
  freeInMs: 1_000,
  isHeld,
  position: null,
  arrivalUs: 0,
  freeSlot: null,
  supersededBy: null,
});
const failed = { kind: 'failed', cause: 'timeout', message: 'm' } as const;
const failures = ['a', 'b'].map((master) => ({ master, failed }));
const noQuorum: Attempt = { kind: 'unreachable', failures };

/** Waits while the masters give these answers, the last one again and again. */
async function waited(
  answers: readonly Attempt[],
  limits: { waitMs: number | null; giveUpAfterMs?: number; retryCount?: number },
  environment: NodeJS.ProcessEnv = {},
  sharing: Sharing = alone.sharing,
) {
  let attemptCount = 0;
  const clock = new HandClock();
  const subscriptions = {
    pause: (ms: number) => clock.sleep(ms),
    forgetWakeUps: () => {},
    close: () => {},
  };
  const redlock = {
    masterCount: 3,
    attempt: async () => answers[Math.min(attemptCount++, answers.length - 1)],
    withKnownFailures: (known: unknown) => known,
    release: async () => {},
    settled: async () => {},
    subscribe: async () => subscriptions,
  } as unknown as Redlock;
  const { waitMs, giveUpAfterMs = 10_000, retryCount } = limits;
  const retries = retryCount ? { count: retryCount, delayMs: 1, jitterMs: 0 } : null;
  const acquisition = waitForLock({
    redlock,
    clock,
    random: () => 0.5,
    report: () => {},
    newClaim: () => ({ ...claim, sharing }),
    waiterId: 'w',
    isHeldAround: heldAroundOf(environment, ['a'], ({ forPid }) => forPid === 7),
    waitMs,
    giveUpAfterMs,
    retries,
    aborted: new AbortController().signal,
  });
  let isOver = false;
  const over = acquisition.finally(() => {
    isOver = true;
  });
  while (!isOver) await clock.moveTo(clock.now() + 10);
  const result = await over;
  return { kind: result.kind, result, attemptCount, waitedMs: clock.now() };
}

test.each([0, 10_000])('giveUpAfter %s: a busy lock is still waited for', async (ms) => {
  const limits = { waitMs: null, giveUpAfterMs: ms };
  expect(await waited([busyBy('T'), busyBy('T'), free], limits)).toMatchObject({
    kind: 'acquired',
    attemptCount: 3,
  });
});

test('a refusal is reported without what only a wait needs of the votes', async () => {
  const { result } = await waited([busyBy('T')], { waitMs: 0 });
  const holder = `T ${record}`;
  expect(result).toEqual({ kind: 'busy', holder, holderCount: 1, freeInMs: 1_000 });
});

test.each([
  [0, 1],
  [1_000, 11],
])('giveUpAfter %s: no quorum is waited for that long', async (giveUpAfterMs, attemptCount) => {
  const limits = { waitMs: null, giveUpAfterMs };
  expect(await waited([noQuorum], limits)).toMatchObject({ kind: 'unreachable', attemptCount });
});

const inside = { REDLOCK_HELD: 'a', REDLOCK_HELD_LEASES: 'T1:7:30000' };
const waiting = { waitMs: 60_000 };
const once = { waitMs: 0 };
const counted = { waitMs: 60_000, retryCount: 3 };
const split = busyBy('T2', false);
const by = { user: 'u', host: 'h', pid: 1, since: 's', note: 'n' };
const frozen = busyWith(renderFreeze({ token: 'F', ...by }));
const shared = busyWith('shared');
const hold = `T ${JSON.stringify({ ...JSON.parse(record), forPid: 7 })}`;

test.each<[string, NodeJS.ProcessEnv, typeof waiting, Attempt[], string, number]>([
  ['no run around it: it waits', {}, waiting, [busyBy('T1'), free], 'acquired', 2],
  ['another name is', { REDLOCK_HELD: 'b' }, waiting, [busyBy('T1'), free], 'acquired', 2],
  ['held around it', inside, waiting, [busyBy('T1')], 'nested', 1],
  ['held for its script', {}, waiting, [busyWith(hold)], 'nested', 1],
  ['held for its script, seen later', {}, waiting, [busyBy('T'), busyWith(hold)], 'nested', 2],
  ['held around it, and no wait', inside, once, [busyBy('T1')], 'nested', 1],
  ['held around it, with retries', inside, counted, [busyBy('T1')], 'nested', 1],
  ['held around it, after an outage', inside, waiting, [noQuorum, busyBy('T1')], 'nested', 2],
  ['free after an outage', inside, waiting, [noQuorum, noQuorum, free], 'acquired', 3],
  ['no quorum, and no wait', inside, once, [noQuorum], 'unreachable', 1],
  ['another holder', inside, waiting, [busyBy('T2'), free], 'acquired', 2],
  ['another holder, and no wait', inside, once, [busyBy('T2')], 'busy', 1],
  ['a split vote tells nothing', inside, waiting, [split, busyBy('T1')], 'nested', 2],
  ['one that lasts does', inside, waiting, [busyBy('T1', false)], 'nested', 9],
  ['shared by holders that are not shown', inside, waiting, [shared], 'nested', 1],
  ['shared, and not by it', {}, waiting, [shared, free], 'acquired', 2],
  ['frozen, which hides the holder', inside, waiting, [frozen, busyBy('T1')], 'nested', 2],
  ['waiters are before it', inside, waiting, [busyWith(''), free], 'acquired', 2],
  ['shown when another name is free', inside, waiting, [busyBy('T2'), busyBy('T1')], 'nested', 2],
  ['not alone later on', inside, waiting, [busyBy('T2'), shared, free], 'acquired', 3],
])('a run inside of another one: %s', async (_, environment, limits, answers, kind, attempts) => {
  const attemptCount = attempts;
  expect(await waited(answers, limits, environment)).toMatchObject({ kind, attemptCount });
});

test('a run inside of another one waits for another slot of the same lock', async () => {
  const slots = { kind: 'slots', slotCount: 2, slot: 1 } as const;
  const answers = [busyWith('slots 2'), free];
  expect(await waited(answers, waiting, inside, slots)).toMatchObject({ kind: 'acquired' });
  expect(await waited(answers, waiting, inside)).toMatchObject({ kind: 'nested' });
});
