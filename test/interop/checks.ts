// What is checked between another implementation and ours, both ways. Each check is a function that
// throws; the same for all implementations.

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { eventually } from '../servers/processes.ts';
import type { Adapter } from './adapter.ts';
import type { Implementation } from './implementations.js';
import { name, type Rig } from './rig.ts';
import { type Plan, type Sections, shareSection } from './section.ts';

export interface Check {
  readonly title: string;
  /** Whether it applies; default: to all. */
  readonly applies?: (implementation: Implementation) => boolean;
  /** `plan` is that of the shared section; half its limit is the limit of a hand-over. */
  run(rig: Rig, plan: Plan): Promise<undefined | Sections>;
}

/** Long enough for a check in which nothing is to expire. */
const longMs = 60_000;

/** Theirs gets the lock, in however many attempts. */
const letIn = (rig: Rig, theirs: Adapter, ttlMs: number) =>
  eventually('theirs is let in', () => rig.attemptOf(theirs, ttlMs), 30_000);

/** Theirs is refused while ours holds, also beyond its first end, and changes nothing. */
async function isRefusedBeyond(rig: Rig, theirs: Adapter, firstEndAt: number): Promise<void> {
  const ours = await rig.ours();
  for (let over = 0; over < 2; ) {
    if ((await rig.expiry()) > firstEndAt && Date.now() > firstEndAt) over += 1;
    expect(await theirs.acquire(name, longMs)).toBe(false);
    await theirs.release(); // Of what it does not have.
    await rig.expectOurs(ours);
    await sleep(20);
  }
}

export const checks: readonly Check[] = [
  {
    title: 'theirs holds: program and library are refused in every form, and change nothing',
    async run(rig) {
      await rig.holder(longMs);
      const before = await rig.look();
      const { code, stderr } = await rig.once();
      expect([code, stderr]).toEqual([75, expect.stringMatching('held by another program')]);
      for (const flags of [['--shared'], ['--slots', '2'], ['--supersede']])
        expect([flags, (await rig.once(...flags)).code]).toEqual([flags, 75]);
      expect(await rig.attempt()).toBe('busy');
      expect(await rig.look()).toEqual(before);
      return undefined;
    },
  },
  {
    title: 'theirs holds: redlockctl shows it',
    async run(rig) {
      await rig.holder(longMs);
      const { code, stdout } = await rig.ctl('status', name, '--json');
      expect(code).toBe(75);
      const [lock] = JSON.parse(stdout).locks;
      expect(lock).toMatchObject({ name, state: 'held' });
      expect(lock.remainingMs).toBeGreaterThan(0);
      return undefined;
    },
  },
  {
    title: 'theirs extends: ours is still refused',
    applies: (one) => one.extends !== 'never',
    async run(rig) {
      const isAsked = rig.implementation.extends === 'when asked';
      const theirs = await rig.holder(isAsked ? longMs : 2_000);
      const before = await rig.expiry();
      expect((await rig.once()).code).toBe(75);
      const isExtended = isAsked ? await theirs.extend(longMs) : true;
      if (isExtended === null && rig.implementation.registry === 'folder') return undefined;
      expect([isExtended, theirs.lastError]).toEqual([true, '']);
      await rig.untilExtended(before);
      expect([(await rig.once()).code, await rig.attempt()]).toEqual([75, 'busy']);
      return undefined;
    },
  },
  {
    title: 'theirs releases: a waiting program is let in, then a waiting library',
    async run(rig, { limitMs }) {
      const theirs = await rig.holder(longMs);
      const waiter = rig.start(['-v', '-w', `${limitMs / 2}ms`, name, '--', 'echo', 'ran']);
      await waiter.says('stderr', /waiting/);
      expect([await theirs.release(), theirs.lastError]).toEqual([true, '']);
      expect(await waiter.result).toMatchObject({ code: 0, stdout: 'ran\n' });
      expect(await theirs.acquire(name, longMs)).toBe(true);
      const lease = rig.lease(5_000, limitMs / 2);
      await theirs.release();
      await (await lease).release();
      return undefined;
    },
  },
  {
    title: 'theirs is killed: ours is let in when its time to live is over, and not before',
    async run(rig) {
      const theirs = await rig.holder(3_000);
      const expiry = await rig.expiry();
      await theirs.kill();
      const { code, stdout } = await rig.start(['-w', '60s', name, '--', 'date', '+%s%3N']).result;
      expect(code).toBe(0);
      expect(Number(stdout)).toBeGreaterThanOrEqual(expiry);
      return undefined;
    },
  },
  {
    title: 'theirs is frozen beyond its lease: its late extension and release find ours',
    async run(rig) {
      const theirs = await rig.holder(2_000);
      await theirs.freeze();
      const job = await rig.program('3s');
      const ours = await rig.ours();
      theirs.thaw();
      if (rig.implementation.lateReleaseRemoves === 'our lock') {
        await theirs.extend(longMs);
        await theirs.release();
        expect(await job.result).toMatchObject({ code: 79 });
        return undefined;
      }
      expect(await theirs.extend(longMs)).not.toBe(true);
      await theirs.release();
      await rig.expectOurs(ours);
      await rig.untilExtended(await rig.expiry());
      job.signal('SIGTERM');
      expect((await job.result).signal).toBe('SIGTERM');
      return undefined;
    },
  },
  {
    title: 'the program holds beyond its first ttl: theirs is refused, and let in after its end',
    async run(rig) {
      const theirs = await rig.theirs();
      const job = await rig.program('3s');
      await isRefusedBeyond(rig, theirs, await rig.expiry());
      job.signal('SIGTERM');
      expect((await job.result).signal).toBe('SIGTERM');
      await letIn(rig, theirs, longMs);
      expect((await rig.once()).code).toBe(75);
      return undefined;
    },
  },
  {
    title:
      'the library holds beyond its first ttl: theirs is refused, and let in after its release',
    async run(rig) {
      const theirs = await rig.theirs();
      const lease = await rig.lease(3_000, 0);
      await isRefusedBeyond(rig, theirs, await rig.expiry());
      expect(await lease.release()).toBe(true);
      await letIn(rig, theirs, longMs);
      expect(await rig.attempt()).toBe('busy');
      return undefined;
    },
  },
  {
    title: 'the program is killed: theirs is let in when its time to live is over, and not before',
    async run(rig) {
      const theirs = await rig.theirs();
      const job = await rig.program('3s');
      job.killAll();
      await job.result;
      const expiry = await rig.expiry();
      await letIn(rig, theirs, longMs);
      expect(Date.now()).toBeGreaterThanOrEqual(expiry);
      expect((await rig.once()).code).toBe(75);
      return undefined;
    },
  },
  {
    title: 'the program is frozen beyond its lease: its late extension and release find theirs',
    async run(rig) {
      const theirs = await rig.theirs();
      const job = await rig.program('2s');
      const ours = await rig.ours();
      job.signal('SIGSTOP');
      await letIn(rig, theirs, longMs);
      const before = await rig.without(ours);
      job.signal('SIGCONT');
      expect((await job.result).code).toBe(79);
      await rig.expectKept(before);
      expect([(await rig.once()).code, await rig.attempt()]).toEqual([75, 'busy']);
      return undefined;
    },
  },
  {
    title: 'the lease of the library is over: its late extension and release find theirs',
    async run(rig) {
      const theirs = await rig.theirs();
      const lease = await rig.library().acquire(name, 1_500, { waitMs: 0 });
      const ours = await rig.ours();
      await letIn(rig, theirs, longMs);
      const before = await rig.without(ours);
      await expect(lease.extend()).rejects.toMatchObject({ kind: 'lost' });
      await lease.release();
      await rig.expectKept(before);
      return undefined;
    },
  },
  {
    title: 'one of three masters crashes: each still excludes the other',
    applies: ({ masterCount }) => masterCount === 3,
    async run(rig) {
      const theirs = await rig.theirs();
      await rig.masters[2]?.kill();
      if (rig.implementation.withMasterDown === 'leaves its keys') {
        expect(await theirs.acquire(name, longMs)).toBe(false);
        expect(await rig.values()).not.toContain(null);
        expect([(await rig.once()).code, await rig.attempt()]).toEqual([75, 'busy']);
        return undefined;
      }
      await letIn(rig, theirs, longMs);
      expect([(await rig.once()).code, await rig.attempt()]).toEqual([75, 'busy']);
      await theirs.release();
      const job = await rig.program('5s');
      const ours = await rig.ours();
      expect(await theirs.acquire(name, longMs)).toBe(false);
      await rig.expectOurs(ours);
      job.signal('SIGTERM');
      await job.result;
      await letIn(rig, theirs, longMs);
      return undefined;
    },
  },
  {
    title: 'its keys on one of three masters keep none out, those on two do, and are left alone',
    applies: ({ masterCount }) => masterCount === 3,
    async run(rig) {
      const [, second, third] = rig.masters;
      const theirs = await rig.holder(longMs);
      await theirs.kill();
      const before = await rig.look();
      await third?.command('del', rig.key);
      expect([(await rig.once()).code, await rig.attempt()]).toEqual([75, 'busy']);
      await second?.command('del', rig.key);
      expect([(await rig.once()).code, await rig.attempt()]).toEqual([0, 'acquired']);
      expect((await rig.look())[0]).toEqual(before[0]);
      return undefined;
    },
  },
  {
    title: 'its failed attempt leaves no key',
    applies: ({ masterCount }) => masterCount === 3,
    async run(rig, { limitMs }) {
      const theirs = await rig.theirs();
      for (const master of rig.masters.slice(0, 2))
        await master.command('set', rig.key, 'another', 'px', longMs);
      expect(await theirs.acquire(name, longMs)).toBe(false);
      if (rig.implementation.failedAttemptLeaves === 'its keys') {
        expect((await rig.values())[2]).not.toBe(null);
        return undefined;
      }
      await eventually(
        'its keys are gone',
        async () => (await rig.values())[2] === null,
        limitMs / 12,
      );
      return undefined;
    },
  },
  {
    title: 'a section that it shares with program and library is never entered by two',
    async run(rig, plan) {
      const sections = await shareSection(rig, plan);
      const { overlaps, lost, failures } = sections;
      expect({ overlaps, lost }).toEqual({ overlaps: 0, lost: 0 });
      expect(failures).toEqual([]);
      return sections;
    },
  },
];
