// The promise itself: whatever happens to redlock-run, to its guard or to its masters, the
// command's whole process tree has ended before a quorum of masters loses the key. Each job is a
// family of children that do not want to end. Every test prints the margin that it measured.

import { describe, expect, it } from 'vitest';
import { hasPerl } from '../servers/perl.ts';
import {
  guardsOf,
  type Job,
  measure,
  type Outcome,
  ownMasters,
  pass,
  sharedMasters,
  startFamily,
} from './rig.ts';
import { freeze, thaw } from './witness.ts';

interface Scenario {
  readonly title: string;
  /** The event, once the job runs. */
  readonly when: (job: Job) => Promise<void> | void;
  readonly ends: { readonly code?: number; readonly signal?: NodeJS.Signals };
  readonly says?: RegExp;
  /** redlock-run still exists, and does nothing. */
  readonly isFrozen?: true;
  /** The longest time until all processes are gone. */
  readonly withinMs: number;
}

const scenarios: Scenario[] = [
  {
    title: 'SIGKILL of redlock-run',
    when: (job) => job.run.signal('SIGKILL'),
    ends: { signal: 'SIGKILL' },
    withinMs: 4_000,
  },
  {
    title: 'SIGSTOP of redlock-run for ever',
    when: (job) => job.run.signal('SIGSTOP'),
    ends: { signal: 'SIGKILL' },
    isFrozen: true,
    withinMs: 5_000,
  },
  {
    title: 'SIGSTOP of redlock-run, and SIGCONT after the ttl',
    when: async (job) => {
      await betweenExtensions(job);
      job.happens();
      job.run.signal('SIGSTOP');
      await pass(6_000);
      job.run.signal('SIGCONT');
    },
    ends: { code: 79 },
    says: /lost: .* suspended: .* the command was (stopped|killed)/,
    withinMs: 5_000,
  },
  {
    title: 'SIGTERM of redlock-run',
    when: (job) => job.run.signal('SIGTERM'),
    ends: { signal: 'SIGTERM' },
    withinMs: 4_000,
  },
  {
    title: 'SIGINT of redlock-run',
    when: (job) => job.run.signal('SIGINT'),
    ends: { signal: 'SIGINT' },
    withinMs: 4_000,
  },
  {
    title: 'SIGKILL of the guard',
    when: (job) => {
      process.kill(job.guardPid, 'SIGKILL');
    },
    ends: { code: 79 },
    says: /the guard process died; ending all that it guarded\n.*lost: .* guard-lost: /,
    withinMs: 6_000,
  },
  {
    title: 'SIGKILL of redlock-run, whose outer guard is stopped',
    when: (job) => {
      process.kill(job.guardPid, 'SIGSTOP');
      job.run.signal('SIGKILL');
    },
    ends: { signal: 'SIGKILL' },
    withinMs: 4_000,
  },
  {
    title: 'SIGKILL of redlock-run, whose inner guard is stopped',
    when: (job) => {
      for (const pid of guardsOf(job.guardPid)) process.kill(pid, 'SIGSTOP');
      job.run.signal('SIGKILL');
    },
    ends: { signal: 'SIGKILL' },
    withinMs: 4_000,
  },
  {
    title: 'SIGKILL of the inner guard',
    when: (job) => {
      for (const pid of guardsOf(job.guardPid)) process.kill(pid, 'SIGKILL');
    },
    ends: { code: 79 },
    says: /the guard process died; ending all that it guarded\n.*lost: .* guard-lost: /,
    withinMs: 6_000,
  },
  {
    title: 'all masters frozen',
    when: async (job) => {
      await job.witness.extended(5_000);
      await freeze(await mastersOf(job));
      job.happens();
    },
    ends: { code: 79 },
    says: /lost: .* unreachable: no quorum extended it in time/,
    withinMs: 5_000,
  },
  {
    title: 'all keys taken away',
    when: async (job) => {
      job.witness.keyIsTaken();
      for (const master of await mastersOf(job)) await master.flush();
    },
    ends: { code: 79 },
    says: /lost: .* expired: too few masters still confirm it/,
    withinMs: 5_000,
  },
  {
    title: 'the value of another client',
    when: async (job) => {
      job.witness.keyIsTaken();
      for (const master of await mastersOf(job))
        await master.command('set', `redlock:${job.name}`, 'theirs');
    },
    ends: { code: 79 },
    says: /lost: .* taken: masters show the value of another client/,
    withinMs: 5_000,
  },
];

const sets = new Map<Job, Promise<Awaited<ReturnType<typeof ownMasters>>>>();
const mastersOf = async (job: Job) => (await sets.get(job)) ?? [];

/**
 * Waits for an extension, and a moment more for its answers. One that is being sent at a SIGSTOP
 * goes on with the SIGCONT, and its answers may tell of the loss before the clock does.
 */
async function betweenExtensions(job: Job): Promise<void> {
  const [master] = await mastersOf(job);
  const leftMs = async () => Number(await master?.command('pttl', `redlock:${job.name}`));
  for (let before = await leftMs(), now = before; now <= before; now = await leftMs()) {
    before = now;
    await pass(20);
  }
  await pass(200);
}

describe
  .skipIf(!hasPerl)
  .concurrent('no process survives, and all are gone before the key is', () => {
    it.each(scenarios)('$title', async ({ title, when, ends, says, isFrozen, withinMs }) => {
      const harmsMasters = /masters|keys/.test(title);
      const set = harmsMasters ? ownMasters() : sharedMasters();
      const job = startFamily(await set);
      sets.set(job, set);
      await job.ready();
      job.happens();
      await when(job);
      const outcome = await job
        .outcome(isFrozen ? 'frozen' : 'ends')
        .finally(() => harmsMasters && thawAll(set));
      measure(title, outcome);
      check(outcome, ends);
      if (says) expect(outcome.stderr).toMatch(says);
      expect(outcome.goneAfterMs).toBeLessThan(withinMs);
    });
  });

async function thawAll(set: ReturnType<typeof ownMasters>): Promise<void> {
  thaw(await set);
}

function check({ code, signal, stdout, stderr }: Outcome, ends: Scenario['ends']): void {
  expect([code, signal, stdout], stderr).toEqual([
    ends.code ?? null,
    ends.signal ?? null,
    'ready\n',
  ]);
}
