// The queue over real masters: in which order waiters are served, and that nobody waits for the
// dead. The truth table of the scripts behind it is in scripts.test.ts. Times are asserted only
// against the poll of a second, which is what a wait would last if calls were not heard; nothing
// here depends on a fast machine.

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Lease } from '../../src/lock/types.ts';
import { type Acquisition, waitForLock } from '../../src/lock/wait.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { clock, handleOn, never, newClaim, type Rig, redlockOn } from './rig.ts';

let masters: TestMaster[] = [];
beforeAll(async () => {
  masters = await startMasters(3);
});
beforeEach(() => Promise.all(masters.map((master) => master.flush())));
afterAll(async () => {
  await stopAll();
  nothingLeft();
});

function wait(
  { redlock, events }: Rig,
  waitMs: number | null = null,
  aborted = never(),
): Promise<Acquisition> {
  const report = (event: Rig['events'][number]) => events.push(event);
  const waiterId = randomBytes(6).toString('hex');
  const parts = { redlock, clock, random: Math.random, report, newClaim, waiterId };
  return waitForLock(parts, { waitMs, giveUpAfterMs: 10_000, aborted });
}

async function hold(ttlMs = 60_000): Promise<{ rig: Rig; lease: Lease }> {
  const rig = redlockOn(masters);
  const attempt = await rig.redlock.attempt(newClaim({ ttlMs }));
  if (attempt.kind !== 'acquired') throw new Error(`free, but ${attempt.kind}`);
  return { rig, lease: attempt.lease };
}

/** So many wait behind the holder, on every master. */
function untilInLine(count: number): Promise<unknown> {
  return eventually(`${count} in line`, async () => {
    const lengths = await Promise.all(
      masters.map((master) => master.command('zcard', '{r}:queue')),
    );
    return lengths.every((length) => length === count);
  });
}

async function leaseOf(acquisition: Promise<Acquisition>): Promise<Lease> {
  const ended = await acquisition;
  if (ended.kind !== 'acquired') throw new Error(ended.kind);
  return ended.lease;
}

const keysLeft = async () =>
  (await Promise.all(masters.map((master) => master.keys())))
    .flat()
    .filter((key) => !/:(fence|history)$/.test(key));

test('twenty waiters are served in the order in which they came, each within a poll, and nothing is left', async () => {
  const holder = await hold();
  const served: number[] = [];
  const gapsMs: number[] = [];
  let releasedAt = 0;
  const waiters: Promise<void>[] = [];
  for (let index = 0; index < 20; index += 1) {
    const rig = redlockOn(masters);
    waiters.push(
      leaseOf(wait(rig)).then(async ({ claim }) => {
        gapsMs.push(performance.now() - releasedAt);
        served.push(index);
        releasedAt = performance.now();
        await rig.redlock.release(claim);
      }),
    );
    await untilInLine(index + 1);
  }
  releasedAt = performance.now();
  await holder.rig.redlock.release(holder.lease.claim);
  await Promise.all(waiters);
  expect(served).toEqual(Array.from({ length: 20 }, (_, index) => index));
  expect(gapsMs.filter((ms) => ms > 900)).toEqual([]);
  expect(await keysLeft()).toEqual([]);
});

test('a hundred who come in the same moment are all served, one at a time', async () => {
  let insideCount = 0;
  let mostInside = 0;
  const rigs = Array.from({ length: 100 }, () => redlockOn(masters));
  await Promise.all(
    rigs.map(async (rig) => {
      const { claim } = await leaseOf(wait(rig));
      insideCount += 1;
      mostInside = Math.max(mostInside, insideCount);
      await new Promise((resolve) => setTimeout(resolve, 1));
      insideCount -= 1;
      await rig.redlock.release(claim);
    }),
  );
  expect(mostInside).toBe(1);
  expect(await keysLeft()).toEqual([]);
});

test('who does not wait is refused while others do, also when the lock is free', async () => {
  const holder = await hold();
  const waiter = redlockOn(masters);
  const waiting = wait(waiter);
  await untilInLine(1);
  const subscriptions = [];
  for (const master of masters) {
    await master.command('zadd', '{r}:queue', 0, 'before-all');
    await master.command('zadd', '{r}:waiters', 9e15, 'before-all');
    subscriptions.push(await master.hear(['{r}:wake:before-all'], () => {}));
  }
  await holder.rig.redlock.release(holder.lease.claim);
  expect(await wait(redlockOn(masters), 0)).toMatchObject({ kind: 'busy', holder: '' });
  for (const master of masters) await master.command('zrem', '{r}:queue', 'before-all');
  for (const close of subscriptions) await close();
  await waiter.redlock.release((await leaseOf(waiting)).claim);
});

test('a first in line who dies is passed over within a few seconds', async () => {
  const holder = await hold();
  const dead = redlockOn(masters);
  void wait(dead);
  await untilInLine(1);
  const next = redlockOn(masters);
  const waiting = wait(next);
  await untilInLine(2);
  for (const master of dead.masters) {
    master.close();
    // A closed handle dials again when it is used, and the dead do not.
    master.acquire = () => new Promise(() => {});
  }
  await holder.rig.redlock.release(holder.lease.claim);
  await next.redlock.release((await leaseOf(waiting)).claim);
});

test('who gives up leaves the line, and the next one need not wait for his silence to be noticed', async () => {
  const holder = await hold();
  const impatient = wait(redlockOn(masters), 300);
  await untilInLine(1);
  const next = redlockOn(masters);
  const waiting = wait(next);
  expect(await impatient).toMatchObject({ kind: 'busy' });
  await untilInLine(1);
  const releasedAt = performance.now();
  await holder.rig.redlock.release(holder.lease.claim);
  const { claim } = await leaseOf(waiting);
  expect(performance.now() - releasedAt).toBeLessThan(900);
  await next.redlock.release(claim);
  expect(await keysLeft()).toEqual([]);
});

test('a signal while waiting leaves the line as well', async () => {
  const holder = await hold();
  const ended = new AbortController();
  const waiting = wait(redlockOn(masters), null, ended.signal);
  await untilInLine(1);
  ended.abort();
  expect(await waiting).toEqual({ kind: 'aborted' });
  await untilInLine(0);
  await holder.rig.redlock.release(holder.lease.claim);
});

test('a holder of another library, who calls nobody, is waited for by the expiry of his key', async () => {
  await Promise.all(masters.map((master) => master.command('set', 'r', 'foreign', 'px', 1_500)));
  const rig = redlockOn(masters);
  const { claim } = await leaseOf(wait(rig));
  expect(rig.events.some(({ kind }) => kind === 'waiting')).toBe(true);
  await rig.redlock.release(claim);
});

test('one connection hears as many waiters as there are, and waits as often as one likes', async () => {
  const [master] = masters as [TestMaster];
  const connections = async () =>
    ((await master.command('client', 'list')) as string).trim().split('\n').length;
  const before = await connections();
  const handle = handleOn(master);
  const warnings: Error[] = [];
  const warned = (warning: Error) => warnings.push(warning);
  process.on('warning', warned);
  const heard = new Set<string>();
  for (let round = 0; round < 2; round += 1) {
    for (let count = 0; count < 15; count += 1) {
      const id = `w${count}`;
      const claim = newClaim({ waiter: { id, arrivalUs: count } });
      expect(await handle.subscribe(claim, () => heard.add(id))).toHaveProperty('close');
    }
  }
  for (let count = 0; count < 15; count += 1)
    await master.command('publish', `{r}:wake:w${count}`, '');
  await eventually('all have heard', () => heard.size === 15);
  expect(await connections()).toBe(before + 1);
  process.off('warning', warned);
  expect(warnings).toEqual([]);
  handle.close();
});
