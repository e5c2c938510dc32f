// Several contenders at the real masters at once: one gets the lock soon, no two get it together,
// and one that fails has left nothing in the way of the others.

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { LockEvent } from '../../src/lock/ports.ts';
import { type Acquisition, waitForLock } from '../../src/lock/wait.ts';
import { FaultyProxy } from '../servers/faulty-proxy.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { hasFewFiles } from '../servers/open-files.ts';
import { generous } from '../servers/patience.ts';
import { clock, lasting, never, newClaim, type Rig, redlockOn, untilNothingIsLeft } from './rig.ts';

let masters: TestMaster[] = [];
let proxies: FaultyProxy[] = [];
beforeAll(async () => {
  masters = await startMasters(5);
  proxies = await Promise.all(masters.map((master) => FaultyProxy.start(master.url)));
});
beforeEach(async () => {
  for (const master of masters) master.thaw(); // Where a test that failed has left it frozen.
  await Promise.all(masters.map((master) => master.flush()));
});
afterAll(async () => {
  for (const proxy of proxies) await proxy.stop();
  await stopAll();
  nothingLeft();
});

/** Waits for the lock; `waitMs` null: for ever. */
function acquireBy(
  { redlock, events }: Rig,
  waitMs: number | null = null,
  aborted = never(),
): Promise<Acquisition> {
  const limits = { waitMs, giveUpAfterMs: 10_000, aborted };
  const report = (event: LockEvent) => events.push(event);
  const waiterId = randomBytes(8).toString('hex');
  const parts = {
    redlock,
    clock,
    random: Math.random,
    report,
    newClaim: () => newClaim(),
    waiterId,
  };
  return waitForLock({ ...parts, ...limits });
}

async function releaseBy({ redlock }: Rig, acquisition: Acquisition): Promise<void> {
  if (acquisition.kind === 'acquired') await redlock.release(acquisition.lease.claim, 0, null);
}

test.skipIf(hasFewFiles)(
  'six contenders at five masters that answer 1 to 25 ms late: one has it',
  async () => {
    for (let round = 0; round < 5; round += 1) {
      for (const [index, proxy] of proxies.entries())
        proxy.delay(1 + ((round * 7 + index * 6) % 25));
      const rigs = Array.from({ length: 6 }, () => redlockOn(proxies));
      await Promise.all(rigs.flatMap((rig) => rig.masters.map((master) => master.identify())));
      const ended = new AbortController();
      const contenders = rigs.map(async (rig) => {
        const acquisition = await acquireBy(rig, null, ended.signal);
        ended.abort();
        return acquisition;
      });
      const acquisitions = await Promise.all(contenders);
      expect(acquisitions.filter(({ kind }) => kind === 'acquired')).toHaveLength(1);
      await Promise.all(
        rigs.map((rig, index) => releaseBy(rig, acquisitions[index] as Acquisition)),
      );
      await untilNothingIsLeft(masters);
    }
    for (const proxy of proxies) await proxy.pass();
  },
);

test('six contenders that try once each: one has it, for the others it is busy', async () => {
  const rigs = Array.from({ length: 6 }, () => redlockOn(masters));
  const acquisitions = await Promise.all(rigs.map((rig) => acquireBy(rig, 0)));
  const kinds = acquisitions.map(({ kind }) => kind).sort();
  expect(kinds).toEqual(['acquired', 'busy', 'busy', 'busy', 'busy', 'busy']);
  await Promise.all(rigs.map((rig, index) => releaseBy(rig, acquisitions[index] as Acquisition)));
  await untilNothingIsLeft(masters);
});

test('one of three masters down, the second taken for 300 ms: acquired soon after', async () => {
  const [first, second, third] = masters as [TestMaster, TestMaster, TestMaster];
  await second.command('set', 'r', 'them', 'px', 300);
  const beganAt = performance.now();
  const rig = redlockOn([`unix://${first.directory}/none`, second, third]);
  const acquisition = await acquireBy(rig);
  expect(acquisition.kind).toBe('acquired');
  // No wake-up comes, and no holder is seen: a waiter asks again after twice as long each time,
  // up to a second.
  expect(performance.now() - beganAt).toBeLessThan(generous(2_000));
  await releaseBy(rig, acquisition);
  await untilNothingIsLeft(masters);
});

test('a master that was silent while we lost: nothing of ours is left on it', async () => {
  const [silent, ...others] = masters as [TestMaster, ...TestMaster[]];
  for (const master of others) await master.command('set', 'r', 'them', 'px', 60_000);
  await silent.freeze();
  expect(await acquireBy(redlockOn(masters), 0)).toMatchObject({ kind: 'busy', holder: 'them' });
  silent.thaw();
  await untilNothingIsLeft([silent]);
});

test('forty contenders, each for 5 ms: all are served, never two at once', async () => {
  let holderCount = 0;
  let mostAtOnce = 0;
  await Promise.all(
    Array.from({ length: 40 }, async () => {
      const rig = redlockOn(masters);
      const acquisition = await acquireBy(rig);
      holderCount += 1;
      mostAtOnce = Math.max(mostAtOnce, holderCount);
      await clock.sleep(5);
      holderCount -= 1;
      await releaseBy(rig, acquisition);
    }),
  );
  expect(mostAtOnce).toBe(1);
  await untilNothingIsLeft(masters);
});

test('masters that answer after the end of validity: never held, no key left', async () => {
  for (const proxy of proxies) proxy.delay(300);
  const rig = redlockOn(proxies);
  await Promise.all(rig.masters.map((master) => master.identify()));
  const attempt = await rig.redlock.attempt(newClaim({ ttlMs: 250, isFenced: false }), lasting);
  expect(attempt).toMatchObject({ kind: 'too-slow' });
  for (const proxy of proxies) await proxy.pass();
  await untilNothingIsLeft(masters);
});
