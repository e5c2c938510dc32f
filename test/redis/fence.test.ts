// The fencing number on real masters: larger for every later holder, whatever the masters forget,
// as long as a quorum can be had. Why is argued in docs/fencing.md; here it is watched.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FaultyProxy } from '../servers/faulty-proxy.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { lasting, newClaim, redlockOn, subsetsOf, untilNothingIsLeft } from './rig.ts';

let masters: TestMaster[] = [];
beforeAll(async () => {
  masters = await startMasters(5);
});
afterAll(async () => {
  await stopAll();
  nothingLeft();
});

/** Acquires by a program of its own, and gives the lock back. */
async function nextFence(): Promise<number> {
  const { redlock } = redlockOn(masters, { masterTimeoutMs: 100 });
  const claim = newClaim();
  const lease = await eventually('acquired', async () => {
    const attempt = await redlock.attempt(claim, lasting);
    return attempt.kind === 'acquired' && attempt.lease;
  });
  await redlock.release(claim, 0, null);
  return lease.fence ?? Number.NaN;
}

async function expectLarger(fences: readonly number[]): Promise<void> {
  expect(fences.every(Number.isSafeInteger)).toBe(true);
  expect(fences.every((fence, index) => index === 0 || fence > (fences[index - 1] as number))).toBe(
    true,
  );
}

test('grows by one from holder to holder while all is well', async () => {
  const fences = [await nextFence(), await nextFence(), await nextFence()];
  await expectLarger(fences);
  expect((fences[2] as number) - (fences[0] as number)).toBeLessThan(1_000_000);
});

test('grows when every master has lost all its data', async () => {
  const fences = [await nextFence()];
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(masters.map((master) => master.restart()));
    fences.push(await nextFence(), await nextFence());
  }
  await expectLarger(fences);
});

test('grows while any two masters lose their counters, are frozen or down', async () => {
  const fences = [await nextFence()];
  const pairs = subsetsOf(masters).filter(({ length }) => length === 2);
  for (const [index, pair] of pairs.entries()) {
    const harm = (['flush', 'freeze', 'kill'] as const)[index % 3] as 'flush' | 'freeze' | 'kill';
    for (const master of pair) await master[harm]();
    fences.push(await nextFence(), await nextFence());
    for (const master of pair) {
      if (harm === 'freeze') master.thaw();
      if (harm === 'kill') await master.restart();
    }
    fences.push(await nextFence());
  }
  await expectLarger(fences);
  await untilNothingIsLeft(masters);
});

test('is written back to a quorum when the masters counted differently', async () => {
  for (const [index, master] of masters.entries())
    await master.command('set', '{r}:fence', `10${index}`);
  const { redlock, events } = redlockOn(masters);
  const attempt = await redlock.attempt(newClaim(), lasting);
  if (attempt.kind !== 'acquired') throw new Error(attempt.kind);
  expect(events).toContainEqual({ kind: 'fence-raised', fence: attempt.lease.fence });
  const counts = (await Promise.all(masters.map((master) => master.get('{r}:fence')))).map(Number);
  expect(
    counts.filter((count) => count >= (attempt.lease.fence ?? Number.NaN)).length,
  ).toBeGreaterThanOrEqual(3);
  await redlock.release(attempt.lease.claim, 0, null);
  await untilNothingIsLeft(masters);
});

test('is not written back to a master that answers after the release', async () => {
  const [first, second, third] = masters.slice(0, 3) as [TestMaster, TestMaster, TestMaster];
  const [near, far] = [await FaultyProxy.start(first.url), await FaultyProxy.start(third.url)];
  await Promise.all(masters.map((master) => master.flush()));
  await first.command('set', '{r}:fence', 10);
  await second.command('set', '{r}:fence', 20);
  const { redlock, masters: handles } = redlockOn([near, second, far]);
  await Promise.all(handles.map((handle) => handle.identify()));
  near.delay(40); // The round that writes back begins after so long; by then the third is free.
  far.delay(160); // What it says to that round is heard only after the release.
  await third.command('set', 'r', 'them', 'px', 20);
  const attempt = await redlock.attempt(newClaim(), lasting);
  if (attempt.kind !== 'acquired') throw new Error(attempt.kind);
  await redlock.release(attempt.lease.claim, 0, null);
  await sleep(300);
  await untilNothingIsLeft(masters);
  await Promise.all([near.stop(), far.stop()]);
});

test('costs no second round when the masters agree', async () => {
  for (const master of masters) await master.command('set', '{r}:fence', '7');
  const { redlock, events } = redlockOn(masters);
  const attempt = await redlock.attempt(newClaim(), lasting);
  expect(attempt).toMatchObject({ kind: 'acquired', lease: { fence: 8 } });
  expect(events.map(({ kind }) => kind)).not.toContain('fence-raised');
  if (attempt.kind === 'acquired') await redlock.release(attempt.lease.claim, 0, null);
});
