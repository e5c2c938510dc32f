// Who gets the lock when some of the masters are taken, frozen or down: every subset of five is
// tried. The rule is the same each time: acquired exactly when a quorum can grant, and nothing of
// ours is left anywhere otherwise.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { FaultyProxy } from '../servers/faulty-proxy.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { lasting, locksOn, newClaim, redlockOn, subsetsOf, untilNothingIsLeft } from './rig.ts';

const masterTimeoutMs = 150;
let all: TestMaster[] = [];
beforeAll(async () => {
  all = await startMasters(7);
});
beforeEach(async () => {
  for (const master of all) master.thaw(); // Where a test that failed has left it frozen.
  await Promise.all(all.map((master) => master.flush()));
});
afterAll(async () => {
  await stopAll();
  nothingLeft();
});

const namesOf = (masters: readonly { name: string }[]) =>
  masters.map(({ name }) => name).join(' ') || 'none';
const takeBy = (value: string, masters: readonly TestMaster[]) =>
  Promise.all(masters.map((master) => master.command('set', 'r', value, 'px', 60_000)));

/** How long something takes, in ms. */
async function timed<T>(work: Promise<T>): Promise<[T, number]> {
  const startedAt = performance.now();
  return [await work, performance.now() - startedAt];
}

describe('five masters', () => {
  let five: TestMaster[] = [];
  beforeAll(() => {
    five = all.slice(0, 5);
  });

  test('any of them taken: acquired when three are free, else busy; nothing left', async () => {
    const { redlock } = redlockOn(five);
    for (const taken of subsetsOf(five)) {
      await takeBy('them', taken);
      const claim = newClaim();
      const attempt = await redlock.attempt(claim, lasting);
      expect(attempt.kind, `taken: ${namesOf(taken)}`).toBe(
        taken.length <= 2 ? 'acquired' : 'busy',
      );
      if (attempt.kind === 'acquired') await redlock.release(claim, 0, null);
      await redlock.settled();
      for (const master of five)
        expect(await master.get('r')).toBe(taken.includes(master) ? 'them' : null);
      await Promise.all(five.map((master) => master.flush()));
    }
  });

  test.each(['before they were ever connected to', 'with connections open'])(
    'any of them frozen, %s: acquired when three answer, and nothing is left after the thaw',
    async (title) => {
      // Where a quorum answers, no request waits for the others, however long they may take.
      const patient = redlockOn(five, { masterTimeoutMs: 5_000 });
      const hasty = redlockOn(five, { masterTimeoutMs });
      await Promise.all([...patient.masters, ...hasty.masters].map((master) => master.identify()));
      for (const frozen of subsetsOf(five)) {
        const isQuorate = frozen.length <= 2;
        const warm = isQuorate ? patient : hasty;
        const cold = () =>
          redlockOn(five, { masterTimeoutMs: isQuorate ? 5_000 : masterTimeoutMs });
        const { redlock } = title.startsWith('with') ? warm : cold();
        await Promise.all(frozen.map((master) => master.freeze()));
        const claim = newClaim();
        const [attempt, elapsedMs] = await timed(redlock.attempt(claim, lasting));
        expect(attempt.kind, `frozen: ${namesOf(frozen)}`).toBe(
          isQuorate ? 'acquired' : 'unreachable',
        );
        expect(elapsedMs).toBeLessThan(4_500);
        const [, releasedAfterMs] = await timed<unknown>(
          isQuorate ? redlock.release(claim, 0, null) : redlock.settled(),
        );
        expect(releasedAfterMs).toBeLessThan(4_500);
        for (const master of frozen) master.thaw();
        await untilNothingIsLeft(five);
      }
    },
  );

  test('any of them down: acquired when three are up, else unreachable at once', async () => {
    for (const down of subsetsOf(five)) {
      const places = five.map((master) =>
        down.includes(master) ? `unix://${master.directory}/none` : master,
      );
      const { redlock } = redlockOn(places, { masterTimeoutMs: 5_000 });
      const claim = newClaim();
      const [attempt, elapsedMs] = await timed(redlock.attempt(claim, lasting));
      expect(attempt.kind, `down: ${namesOf(down)}`).toBe(
        down.length <= 2 ? 'acquired' : 'unreachable',
      );
      expect(elapsedMs).toBeLessThan(4_500);
      await redlock.release(claim, 0, null);
      await untilNothingIsLeft(five);
    }
  });

  test('three frozen and one taken: the holder is unknown: no quorum, not busy', async () => {
    const { redlock } = redlockOn(five, { masterTimeoutMs });
    const [taken, first, second, third] = five as [TestMaster, TestMaster, TestMaster, TestMaster];
    await takeBy('them', [taken]);
    for (const master of [first, second, third]) await master.freeze();
    expect(await redlock.attempt(newClaim(), lasting)).toMatchObject({
      kind: 'unreachable',
      failures: { length: 3 },
    });
    for (const master of [first, second, third]) master.thaw();
    await untilNothingIsLeft(five.filter((master) => master !== taken));
    expect(await locksOn(taken)).toEqual(['r']);
  });
});

test('a release on a quorum waits for no silent master, and a whole one does', async () => {
  const [slow] = all as [TestMaster];
  const three = all.slice(0, 3);
  const { redlock } = redlockOn(three, { masterTimeoutMs: 5_000 });
  for (const [isWhole, release] of [
    [false, redlock.releaseOnQuorum.bind(redlock)],
    [true, redlock.release.bind(redlock)],
  ] as const) {
    const claim = newClaim();
    await redlock.attempt(claim, lasting);
    for (const master of three) await expect.poll(() => master.get('r')).toBe(claim.value);
    // All have answered when this is over, or owe it.
    await redlock.attempt(newClaim({ resources: [claim.value] }), lasting);
    await expect
      .poll(() => Promise.all(three.map((master) => master.get(claim.value))))
      .not.toContain(null);
    await sleep(50);
    await slow.freeze();
    const releasing = release(claim, 0, null);
    const first = await Promise.race([releasing, sleep(500).then(() => 'waits')]);
    if (isWhole) expect(first).toBe('waits');
    else expect(first).toMatchObject({ releasedCount: 2, isConfirmed: true });
    slow.thaw();
    await releasing;
    for (const master of three) await expect.poll(() => master.get('r')).toBeNull();
  }
});

describe('an even number of masters', () => {
  test.each([2, 4])(
    '%i, half of them taken: busy at once, and our half is given back',
    async (masterCount) => {
      const masters = all.slice(0, masterCount);
      await takeBy('them', masters.slice(0, masterCount / 2));
      const { redlock } = redlockOn(masters, { masterTimeoutMs: 5_000 });
      const [attempt, elapsedMs] = await timed(redlock.attempt(newClaim(), lasting));
      expect(attempt).toMatchObject({ kind: 'busy', holder: 'them' });
      expect(elapsedMs).toBeLessThan(4_000);
      await untilNothingIsLeft(masters.slice(masterCount / 2));
    },
  );

  test.each([2, 4])('%i, half of them down: unreachable at once', async (masterCount) => {
    const masters = all.slice(0, masterCount / 2);
    const absent = masters.map((master) => `unix://${master.directory}/none`);
    const { redlock } = redlockOn([...masters, ...absent], { masterTimeoutMs: 5_000 });
    const [attempt, elapsedMs] = await timed(redlock.attempt(newClaim(), lasting));
    expect(attempt.kind).toBe('unreachable');
    expect(elapsedMs).toBeLessThan(4_000);
    await untilNothingIsLeft(masters);
  });
});

test.each([
  [1, 0],
  [2, 0],
  [3, 1],
  [4, 1],
  [5, 2],
  [6, 2],
  [7, 3],
])(
  '%i masters do with %i of them taken or down, and not with one more',
  async (masterCount, spareCount) => {
    const masters = all.slice(0, masterCount);
    for (const missingCount of [spareCount, spareCount + 1]) {
      const present = masters.slice(missingCount);
      const absent = masters.slice(0, missingCount);
      const isEnough = missingCount === spareCount;
      const down = redlockOn([
        ...present,
        ...absent.map((master) => `unix://${master.directory}/none`),
      ]);
      const claim = newClaim();
      expect((await down.redlock.attempt(claim, lasting)).kind).toBe(
        isEnough ? 'acquired' : 'unreachable',
      );
      await down.redlock.release(claim, 0, null);
      await untilNothingIsLeft(masters);

      await takeBy('them', absent);
      const taken = redlockOn(masters);
      expect((await taken.redlock.attempt(claim, lasting)).kind).toBe(
        isEnough ? 'acquired' : 'busy',
      );
      await taken.redlock.release(claim, 0, null);
      await untilNothingIsLeft(present);
      await Promise.all(absent.map((master) => master.flush()));
    }
  },
);

test('a master whose connection is made only after the release keeps nothing', async () => {
  const [first, second, slow] = all.slice(0, 3) as [TestMaster, TestMaster, TestMaster];
  const proxy = await FaultyProxy.start(slow.url);
  proxy.delay(50); // Choosing a database takes a round trip before anything can be asked.
  const { redlock, masters } = redlockOn([first, second, `${proxy.url}?db=1`]);
  const claim = newClaim({ isFenced: false });
  expect((await redlock.attempt(claim, lasting)).kind).toBe('acquired');
  await redlock.release(claim, 0, null);
  await masters[2]?.identify();
  await sleep(100);
  expect(
    await slow.command('eval', "redis.call('select', 1) return redis.call('exists', 'r')", 0),
  ).toBe(0);
  await untilNothingIsLeft(all);
  await proxy.stop();
});
