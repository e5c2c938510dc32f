// The queue over real masters: in which order waiters are served, and that none waits for
// the dead. The truth table of the scripts behind it is in scripts.test.ts. Times are asserted only
// against the poll of a second, which is what a wait would last if wake-ups were not received;
// nothing here depends on a fast machine.

import { randomBytes } from 'node:crypto';
import { setTimeout as pass } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Lease } from '../../src/lock/types.ts';
import { type Acquisition, waitForLock } from '../../src/lock/wait.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { generous } from '../servers/patience.ts';
import { eventually } from '../servers/processes.ts';
import { clock, handleOn, lasting, never, newClaim, type Rig, redlockOn } from './rig.ts';

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
  const parts = {
    redlock,
    clock,
    random: Math.random,
    report,
    newClaim: () => newClaim(),
    waiterId,
  };
  return waitForLock({ ...parts, waitMs, giveUpAfterMs: 10_000, aborted });
}

async function hold(ttlMs = 60_000): Promise<{ rig: Rig; lease: Lease }> {
  const rig = redlockOn(masters);
  const attempt = await rig.redlock.attempt(newClaim({ ttlMs }), lasting);
  if (attempt.kind !== 'acquired') throw new Error(`free, but ${attempt.kind}`);
  return { rig, lease: attempt.lease };
}

/** So many wait behind the holder, on every master, and can be woken there. */
function untilInLine(count: number): Promise<unknown> {
  return eventually(`${count} in line`, async () => {
    const counts = await Promise.all(
      masters.map(async (master) => {
        const channels = (await master.command('pubsub', 'channels', '*')) as readonly string[];
        return [Number(await master.command('zcard', '{r}:queue')), channels.length];
      }),
    );
    return counts.flat().every((one) => one === count);
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

test('twenty waiters are served in their order and by wake-ups; nothing is left', async () => {
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
        await rig.redlock.release(claim, 0, null);
      }),
    );
    await untilInLine(index + 1);
  }
  releasedAt = performance.now();
  await holder.rig.redlock.release(holder.lease.claim, 0, null);
  await Promise.all(waiters);
  expect(served).toEqual(Array.from({ length: 20 }, (_, index) => index));
  // By polls alone the usual gap would be half a second; a busy machine adds to a few of them.
  const usualMs = gapsMs.sort((one, other) => one - other)[gapsMs.length / 2] ?? 0;
  expect(usualMs).toBeLessThan(250);
  expect(await keysLeft()).toEqual([]);
});

test('forty that come in the same moment are all served, one at a time', async () => {
  let insideCount = 0;
  let mostInside = 0;
  const rigs = Array.from({ length: 40 }, () => redlockOn(masters));
  await Promise.all(
    rigs.map(async (rig) => {
      const { claim } = await leaseOf(wait(rig));
      insideCount += 1;
      mostInside = Math.max(mostInside, insideCount);
      await new Promise((resolve) => setTimeout(resolve, 1));
      insideCount -= 1;
      await rig.redlock.release(claim, 0, null);
    }),
  );
  expect(mostInside).toBe(1);
  expect(await keysLeft()).toEqual([]);
});

test('a client that does not wait is refused while others do, also when it is free', async () => {
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
  await holder.rig.redlock.release(holder.lease.claim, 0, null);
  expect(await wait(redlockOn(masters), 0)).toMatchObject({ kind: 'busy', holder: '' });
  for (const master of masters) await master.command('zrem', '{r}:queue', 'before-all');
  for (const close of subscriptions) await close();
  await waiter.redlock.release((await leaseOf(waiting)).claim, 0, null);
});

test('a first waiter that dies is passed over within a few seconds', async () => {
  const holder = await hold();
  const dead = redlockOn(masters);
  void wait(dead);
  await untilInLine(1);
  const next = redlockOn(masters);
  const waiting = wait(next);
  await untilInLine(2);
  for (const master of dead.masters) {
    await master.close();
    // A closed handle dials again when it is used, and the dead do not, nor leave the queue.
    const mute = () => new Promise<never>(() => {});
    Object.assign(master, { acquire: mute, rollback: mute, release: mute, dequeue: mute });
  }
  await holder.rig.redlock.release(holder.lease.claim, 0, null);
  await next.redlock.release((await leaseOf(waiting)).claim, 0, null);
});

test('a waiter that gives up leaves the queue, and the next need not wait for it', async () => {
  const holder = await hold();
  const impatient = wait(redlockOn(masters), generous(300));
  await untilInLine(1);
  const queues = () =>
    Promise.all(masters.map((master) => master.command('zrange', '{r}:queue', 0, -1)));
  const [[id]] = (await queues()) as [[string]];
  const next = redlockOn(masters);
  const waiting = wait(next);
  expect(await impatient).toMatchObject({ kind: 'busy' });
  // At once: it would be passed over after three seconds as well.
  expect((await queues()).flat()).not.toContain(id);
  await untilInLine(1);
  await holder.rig.redlock.release(holder.lease.claim, 0, null);
  await next.redlock.release((await leaseOf(waiting)).claim, 0, null);
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
  await holder.rig.redlock.release(holder.lease.claim, 0, null);
});

test('a holder of another library, which wakes none: waited for by its expiry', async () => {
  await Promise.all(masters.map((master) => master.command('set', 'r', 'foreign', 'px', 1_500)));
  const rig = redlockOn(masters);
  const { claim } = await leaseOf(wait(rig));
  expect(rig.events.some(({ kind }) => kind === 'waiting')).toBe(true);
  await rig.redlock.release(claim, 0, null);
});

test('one connection serves all waiters of a program, as often as they wait', async () => {
  const [master] = masters as [TestMaster];
  const connections = async () => {
    const list = (await master.command('client', 'list')) as string;
    return [...list.matchAll(/^id=(\d+)/gm)].map(([, id]) => id);
  };
  // Of the tests before some may still be ending.
  const before = await connections();
  const handle = handleOn(master);
  const warnings: Error[] = [];
  const warned = (warning: Error) => warnings.push(warning);
  process.on('warning', warned);
  const heard = new Set<string>();
  for (let round = 0; round < 2; round += 1) {
    for (let count = 0; count < 15; count += 1) {
      const id = `w${count}`;
      expect(await handle.subscribe(['r'], id, () => heard.add(id))).toHaveProperty('close');
    }
  }
  for (let count = 0; count < 15; count += 1)
    await master.command('publish', `{r}:wake:w${count}`, '');
  await eventually('all have heard', () => heard.size === 15);
  expect((await connections()).filter((id) => !before.includes(id))).toHaveLength(1);
  process.off('warning', warned);
  expect(warnings).toEqual([]);
  handle.close();
});

const deadCount = 100_000;
/** Fills the queue; ARGV: how many ms ago they were seen ('': never), how many. */
const fill = `local time = redis.call('TIME')
for at = 1, ARGV[2] do
  redis.call('ZADD', KEYS[1], at, 'dead' .. at)
  if ARGV[1] ~= '' then
    redis.call('ZADD', KEYS[2], time[1] * 1000 - ARGV[1], 'dead' .. at)
  end
end`;

test.each([
  ['that were last seen a minute ago', 60_000],
  ['of which only the queue tells', ''],
])('before a living waiter, a hundred thousand %s cost nothing', async (_, agoMs) => {
  const [master] = masters as [TestMaster];
  const waiterOf = (id: string) => ({ waiter: { id, arrivalUs: deadCount + 1 } });
  const handle = handleOn(master);
  const lasting = never();
  const holder = newClaim();
  expect((await handle.acquire(holder, lasting)).kind).toBe('granted');
  await master.command('eval', fill, 2, '{r}:queue', '{r}:waiters', agoMs, deadCount);
  const close = await master.hear(['{r}:wake:living'], () => {});
  const waiting = await handle.acquire(newClaim(waiterOf('living')), lasting);
  expect(waiting).toMatchObject({ kind: 'refused', position: 0 });
  // What a call removes bounds its time.
  const left = Number(await master.command('zcard', '{r}:queue'));
  expect(left).toBeGreaterThan(deadCount - 300);
  expect(left).toBeLessThan(deadCount);
  await handle.release(holder, 0, null);
  // Not to one that comes later; and to the one that waits at its next request.
  expect((await handle.acquire(newClaim(), lasting)).kind).toBe('refused');
  await master.command('zadd', '{r}:waiters', 'xx', 9e15, 'living');
  const next = newClaim(waiterOf('living'));
  expect((await handle.acquire(next, lasting)).kind).toBe('granted');
  expect(await master.command('zcard', '{r}:queue')).toBeGreaterThan(deadCount - 10_000);
  await close();
});

test('a call wakes two hundred that have just died, and the others are first', async () => {
  const [master] = masters as [TestMaster];
  const handle = handleOn(master);
  const outcome = async () => {
    await master.flush();
    await master.command('eval', fill, 2, '{r}:queue', '{r}:waiters', 600, 1_000);
    const { kind } = await handle.acquire(newClaim(), never());
    return [kind, await master.command('zcard', '{r}:queue')];
  };
  await expect.poll(outcome).toEqual(['refused', 800]);
});

test('a waiter that is woken without end asks ten times a second, and is served', async () => {
  const { rig, lease } = await hold();
  const waiting = wait(redlockOn(masters));
  await untilInLine(1);
  const [first] = masters as [TestMaster];
  const [id] = (await first.command('zrange', '{r}:queue', 0, -1)) as string[];
  const counts = async () => {
    const stats = String(await first.command('info', 'commandstats'));
    return Number(/cmdstat_eval:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  };
  const before = await counts();
  const beganAt = Date.now();
  while (Date.now() - beganAt < 2_000) {
    await first.command('publish', `{r}:wake:${id}`, '');
    await pass(5); // Twenty times as often as it may ask.
  }
  const woken = (await counts()) - before;
  const seconds = (Date.now() - beganAt) / 1_000;
  // An attempt that is refused may be followed by a rollback; and the poll of a second.
  expect(woken).toBeGreaterThan(10);
  expect(woken).toBeLessThan(2 * (11 + 11 * seconds));
  await rig.redlock.release(lease.claim, 0, null);
  const next = await leaseOf(waiting);
  await redlockOn(masters).redlock.release(next.claim, 0, null);
});
