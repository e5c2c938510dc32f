// A lease while masters come, go and forget: what keeps it, what ends it, and that what has ended
// is never revived.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Lease } from '../../src/lock/types.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { lasting, newClaim, type Rig, redlockOn, untilNothingIsLeft } from './rig.ts';

let masters: TestMaster[] = [];
beforeAll(async () => {
  masters = await startMasters(3);
});
beforeEach(async () => {
  for (const master of masters) master.thaw(); // Where a test that failed has left it frozen.
  await Promise.all(masters.map((master) => master.flush()));
});
afterAll(async () => {
  await stopAll();
  nothingLeft();
});

/** A lease on all three masters. */
async function leaseOn(rig: Rig, ttlMs = 60_000): Promise<Lease> {
  await Promise.all(rig.masters.map((master) => master.identify()));
  const attempt = await rig.redlock.attempt(newClaim({ ttlMs }), lasting);
  if (attempt.kind !== 'acquired') throw new Error(attempt.kind);
  await everywhere(attempt.lease.claim.value);
  return attempt.lease;
}

const valuesOf = () => Promise.all(masters.map((master) => master.get('r')));
const everywhere = (value: string) =>
  eventually('our value on every master', async () =>
    (await valuesOf()).every((ownership) => ownership === value),
  );

/** What may befall the key on one master. */
const blows = {
  deleted: (master: TestMaster) => master.command('del', 'r'),
  taken: (master: TestMaster) => master.command('set', 'r', 'them', 'px', 60_000),
  made_a_hash: async (master: TestMaster) => {
    await master.command('del', 'r');
    await master.command('hset', 'r', 'f', 'x');
  },
  forgotten: (master: TestMaster) => master.restart(),
} as const;
type Blow = keyof typeof blows;

describe('one of three masters', () => {
  test.each(['deleted', 'forgotten'] as const)(
    '%s: extended, and it shows our value again',
    async (blow) => {
      const rig = redlockOn(masters);
      const lease = await leaseOn(rig);
      await blows[blow](masters[0] as TestMaster);
      await eventually(
        'a new connection',
        async () => (await rig.redlock.extend(lease, lasting)).kind === 'extended',
      );
      await eventually('repaired', async () => {
        await rig.redlock.extend(lease, lasting);
        return rig.events.some(({ kind }) => kind === 'master-repaired');
      });
      await everywhere(lease.claim.value);
      expect(await rig.redlock.release(lease.claim, 0, null)).toMatchObject({ isConfirmed: true });
      await untilNothingIsLeft(masters);
    },
  );

  test.each(['taken', 'made_a_hash'] as const)(
    '%s: extended, and it is let alone',
    async (blow) => {
      const rig = redlockOn(masters);
      const lease = await leaseOn(rig);
      await blows[blow](masters[0] as TestMaster);
      expect(await rig.redlock.extend(lease, lasting)).toMatchObject({
        kind: 'extended',
        extendedCount: 2,
      });
      await rig.redlock.release(lease.claim, 0, null);
      await rig.redlock.settled();
      expect(await masters[0]?.command('type', 'r')).toBe(blow === 'taken' ? 'string' : 'hash');
      await untilNothingIsLeft(masters.slice(1));
    },
  );

  test('one after the other may forget, with an extension in between: held all along', async () => {
    const rig = redlockOn(masters);
    let lease = await leaseOn(rig);
    for (const master of [...masters, ...masters]) {
      await master.restart();
      await eventually('repaired', async () => {
        const extension = await rig.redlock.extend(lease, lasting);
        expect(extension.kind).not.toBe('lost');
        if (extension.kind === 'extended') lease = extension.lease;
        return (await valuesOf()).every((value) => value === lease.claim.value);
      });
    }
    await rig.redlock.release(lease.claim, 0, null);
    await untilNothingIsLeft(masters);
  });
});

describe('two of three masters', () => {
  test.each([
    ['deleted', 'deleted', 'expired'],
    ['forgotten', 'deleted', 'expired'],
    ['taken', 'deleted', 'taken'],
    ['taken', 'taken', 'taken'],
    ['made_a_hash', 'taken', 'taken'],
  ] as readonly (readonly [Blow, Blow, string])[])(
    '%s and %s: lost (%s), and never revived',
    async (first, second, reason) => {
      const rig = redlockOn(masters);
      const lease = await leaseOn(rig);
      await blows[first](masters[0] as TestMaster);
      await blows[second](masters[1] as TestMaster);
      const extension = await eventually('an answer', async () => {
        const extension = await rig.redlock.extend(lease, lasting);
        return extension.kind !== 'unreachable' && extension;
      });
      expect(extension).toEqual({ kind: 'lost', reason });
      await sleep(30);
      expect(await masters[2]?.get('r')).toBe(lease.claim.value);
      for (const [index, blow] of [first, second].entries()) {
        const ownership = await masters[index]?.command('type', 'r');
        expect(ownership).toBe(
          { deleted: 'none', forgotten: 'none', taken: 'string', made_a_hash: 'hash' }[blow],
        );
        if (blow === 'taken') expect(await masters[index]?.get('r')).toBe('them');
      }
      await rig.redlock.release(lease.claim, 0, null);
      await rig.redlock.settled();
      expect(await masters[2]?.get('r')).toBeNull();
    },
  );
});

test('deleted on all three: lost, and no key comes back', async () => {
  const rig = redlockOn(masters);
  const lease = await leaseOn(rig);
  for (const master of masters) await master.command('del', 'r');
  expect(await rig.redlock.extend(lease, lasting)).toEqual({ kind: 'lost', reason: 'expired' });
  await untilNothingIsLeft(masters);
  expect(await rig.redlock.release(lease.claim, 0, null)).toMatchObject({
    releasedCount: 0,
    isConfirmed: true,
  });
});

test('extended on a quorum, but after the validity had ended: lost', async () => {
  const rig = redlockOn(masters);
  const lease = await leaseOn(rig);
  const late = { ...lease, validUntil: lease.startedAt };
  expect(await rig.redlock.extend(late, lasting)).toMatchObject({ kind: 'lost' });
});

test('all frozen: not proven and not lost; extended as before when they answer again', async () => {
  const rig = redlockOn(masters, { masterTimeoutMs: 100 });
  const lease = await leaseOn(rig);
  for (const master of masters) await master.freeze();
  expect(await rig.redlock.extend(lease, lasting)).toMatchObject({
    kind: 'unreachable',
    failures: { length: 3 },
  });
  for (const master of masters) master.thaw();
  expect(await rig.redlock.extend(lease, lasting)).toMatchObject({ kind: 'extended' });
  await rig.redlock.release(lease.claim, 0, null);
  await untilNothingIsLeft(masters);
});

test('released while a majority does not answer: not confirmed, and told which', async () => {
  const rig = redlockOn(masters, { masterTimeoutMs: 100 });
  const lease = await leaseOn(rig);
  const silent = masters.slice(1);
  for (const master of silent) await master.freeze();
  expect((await rig.redlock.extend(lease, lasting)).kind).toBe('unreachable');
  const { isConfirmed, failures } = await rig.redlock.release(lease.claim, 0, null);
  expect(isConfirmed).toBe(false);
  expect(failures.map(({ master }) => master).sort()).toEqual(silent.map(({ url }) => url).sort());
  for (const master of silent) master.thaw();
  await untilNothingIsLeft(masters);
});

test('released while being extended, again and again: confirmed, no key left', async () => {
  const rig = redlockOn(masters);
  for (let count = 0; count < 150; count += 1) {
    const lease = await leaseOn(rig);
    const ended = new AbortController();
    const extension = rig.redlock.extend(lease, ended.signal);
    ended.abort();
    expect(await rig.redlock.release(lease.claim, 0, null)).toMatchObject({ isConfirmed: true });
    await extension;
    await untilNothingIsLeft(masters);
  }
});
