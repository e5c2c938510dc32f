// Histories as the masters have them after some nights: lines written with the ids, and so the
// times, of those nights. Times are UTC, and redlockctl runs with TZ=UTC.

import { afterAll } from 'vitest';
import { type NewRun, renderRun } from '../../src/lock/history.ts';
import type { Holder } from '../../src/lock/value.ts';
import type { TestMaster } from '../servers/masters.ts';

/** The masters may be busy: no test of the history is about one that is silent. */
export const utc = { env: { TZ: 'UTC', REDLOCK_MASTER_TIMEOUT: '8s' } };
const { TZ } = process.env;
process.env.TZ = 'UTC'; // For calls in this process.
afterAll(() => {
  if (TZ === undefined) delete process.env.TZ;
  else process.env.TZ = TZ;
});

let count = 0;

/** A run that ended with 0 after a minute, changed by `changes`; with a token of its own. */
export function runOf(changes: Partial<NewRun> = {}): NewRun {
  count += 1;
  const identity = { host: 'web1', pid: 4_000 + count, user: 'ops', label: 'backup' };
  const end = { outcome: 'ran', exitCode: 0, signal: null, status: 0 };
  return {
    token: `token${count}`,
    ...identity,
    ...end,
    waitMs: 0,
    heldMs: 60_000,
    fence: count,
    blocker: null,
    ...changes,
  };
}

export function missedFor(blocker: Holder, changes: Partial<NewRun> = {}): NewRun {
  const end = { outcome: 'busy', exitCode: null, status: 75, heldMs: null, fence: null };
  return runOf({ ...end, blocker, ...changes });
}

/** Writes this line to the masters as of that time. */
export async function took(
  masters: readonly TestMaster[],
  name: string,
  at: string,
  run: NewRun | string,
) {
  const line = typeof run === 'string' ? run : renderRun(run);
  const key = `redlock:${name}`;
  const takenAtMs = Date.parse(at);
  for (const master of masters) {
    await master.command('lpush', `{${key}}:runs:history`, `${takenAtMs} ${line}`);
    // By the second, and below it by the size (scripts/history.lua).
    const score = Math.floor(takenAtMs / 1000) * 2 ** 21 + 1;
    await master.command('zadd', '{redlock:}:names:history', score, key);
  }
}

/** A night on which the job of 02:00 did not run, because that of the evening had not ended. */
export async function theNight(
  masters: readonly TestMaster[],
  name = 'nightly-backup',
): Promise<void> {
  const minutes = (howMany: number) => howMany * 60_000;
  await took(masters, name, '2026-11-20T02:25:00Z', runOf({ heldMs: minutes(25) }));
  await took(
    masters,
    name,
    '2026-11-20T14:31:00Z',
    runOf({ host: 'web2', heldMs: minutes(30), waitMs: minutes(1) }),
  );
  const since = '2026-11-20T22:00:00.000Z';
  const slow = runOf({
    host: 'web2',
    pid: 4711,
    heldMs: minutes(330),
    status: 3,
    exitCode: 3,
    label: 'restore.sh',
  });
  const { token, host, pid, user, label } = slow;
  const blocker = { token, record: { host, pid, user, label, since } };
  await took(masters, name, '2026-11-21T02:10:00Z', missedFor(blocker, { waitMs: minutes(10) }));
  await took(masters, name, '2026-11-21T03:30:00Z', slow);
  await took(
    masters,
    name,
    '2026-11-21T04:12:00Z',
    runOf({ host: 'web3', outcome: 'lost', status: 79, heldMs: minutes(12), exitCode: 143 }),
  );
  await took(
    masters,
    name,
    '2026-11-21T06:45:00Z',
    runOf({ waitMs: minutes(20), heldMs: minutes(25) }),
  );
}
