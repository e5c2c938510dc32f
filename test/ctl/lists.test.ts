// Lists of masters that differ between hosts, where redlockctl or the library takes the lock, and
// as doctor shows them. Those of redlock-run are in cli/membership.test.ts. Another host is a set
// of our masters that is recorded under its name.

import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { RedlockOptions } from '../../src/index.ts';
import { locksOn } from '../cli/rig.ts';
import { collector, errorOf, redlockOn } from '../library/rig.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { forgetSet, recordSet, usersOf } from '../servers/used-sets.ts';
import { ctl } from './rig.ts';

const graced = { REDLOCK_RESTART_GRACE: '30s' };
const warning = / could grant a lock beside web1's: it has 2 other masters and does .* \(give all/;

let set: TestMaster[] = [];
/** Those of this host, and the ones that web1 has used. */
let ours: TestMaster[] = [];
let theirs: TestMaster[] = [];

beforeAll(async () => {
  set = await startMasters(5, { persist: true, transport: 'tcp' });
  const [a, b, c, d, e] = set as [TestMaster, TestMaster, TestMaster, TestMaster, TestMaster];
  [ours, theirs] = [
    [a, d, e],
    [a, b, c],
  ];
});
beforeEach(async () => {
  for (const master of set) {
    await master.flush();
    await master.markLongAgo('redlock:');
  }
  await recordSet(theirs, 'web1');
});
afterAll(async () => {
  await stopAll();
  nothingLeft();
});

const usedByUs = Array(3).fill(hostname());
const unused = Array(3).fill(null);
const areRecorded = async () => String(await usersOf(ours)) === String(usedByUs);

const graceful = (args: readonly string[], env: Record<string, string> = {}, on = ours) =>
  ctl(on, args, { env: { ...graced, ...env } });

async function releaseByToken(stdout: string): Promise<void> {
  await graceful(['release', 'job', '--token', stdout.trim()]);
}

test.each([
  ['acquire', []],
  ['hold', ['--background', '--while-pid', String(process.pid)]],
])('redlockctl %s warns of it, and records our set of masters', async (verb, flags) => {
  // A bare number of so many seconds is warned about: also once.
  const env = { REDLOCK_TTL: '3600' };
  const { code, stdout, stderr } = await graceful([verb, 'job', ...flags], env);
  expect(code, stderr).toBe(0);
  expect(stderr).toMatch(warning);
  expect(stderr.match(/warning: /g)).toHaveLength(2);
  await eventually('our set is on each', areRecorded);
  await releaseByToken(stdout);
});

test('with the same masters it prints nothing; without a history nothing is recorded', async () => {
  const off = { REDLOCK_HISTORY: 'false' };
  const { code, stdout, stderr } = await graceful(['acquire', 'job'], off, theirs);
  expect([code, stderr]).toEqual([0, '']);
  expect(await usersOf(theirs)).toEqual(['web1', 'web1', 'web1']);
  await releaseByToken(stdout);
});

test.each(['acquire', 'hold'])('redlockctl %s ends with 78 where that is asked', async (verb) => {
  const { code, stdout, stderr } = await graceful([verb, 'job'], {
    REDLOCK_DIFFERING_MASTERS: 'error',
  });
  expect([code, stdout], stderr).toEqual([78, '']);
  expect(stderr).toMatch(warning);
  expect(stderr).toMatch(/^redlockctl: masters: /m);
  for (const master of set) expect(await locksOn(master)).toEqual([]);
  expect(await usersOf(ours)).toEqual(unused);
});

test('the library tells an event once, or rejects, or keeps silent', async () => {
  const optionsOf = (differingMasters?: RedlockOptions['differingMasters']) => ({
    restartGraceMs: 30_000,
    ...collector(),
    differingMasters,
  });
  const { events, ...warns } = optionsOf();
  const redlock = redlockOn(ours, warns);
  for (const name of ['job', 'other']) await redlock.using(name, 5_000, () => {});
  const told = events.filter(({ kind }) => kind === 'masters-differ');
  const missing = ours.slice(1).map(({ url }) => url);
  missing.sort();
  expect(told).toEqual([{ kind: 'masters-differ', host: 'web1', otherCount: 2, missing }]);
  await eventually('our set is on each', areRecorded);

  await forgetSet(ours);
  const { events: _, ...fails } = optionsOf('error');
  const error = await errorOf(redlockOn(ours, fails).acquire('job', 5_000));
  expect(error.kind).toBe('misconfigured');
  expect(error.message).toMatch(warning);
  for (const master of set) expect(await locksOn(master)).toEqual([]);

  const silent = optionsOf('ignore');
  const { events: heard, ...ignores } = silent;
  await redlockOn(ours, ignores).using('job', 5_000, () => {});
  expect(heard.filter(({ kind }) => kind === 'masters-differ')).toEqual([]);
  expect(await usersOf(ours)).toEqual(unused);
});

test('doctor shows the lists and their hosts, and grades them as a run does', async () => {
  const told = async (on: readonly TestMaster[]) => {
    const { stdout } = await ctl(on, ['doctor', '--json'], { env: graced });
    const { findings } = JSON.parse(stdout);
    return findings
      .filter(({ check }: { check: string }) => check === 'lists')
      .map(({ grade, message }: { grade: string; message: string }) => `${grade}: ${message}`);
  };
  expect(await told(ours)).toEqual([
    expect.stringMatching(/^warning: web1 \(\S+ ago\) has 3 masters: redis:\S+ and 2 that are not/),
  ]);
  expect(await told(theirs)).toEqual([
    expect.stringMatching(/^ok: these masters are those of web1 \(\S+ ago\)$/),
  ]);
  await recordSet(theirs, 'web1', 2 * 24 * 60 * 60 * 1000); // No run warns of it any more.
  expect(await told(ours)).toEqual([
    expect.stringMatching(/^ok: web1 \(2d\S* ago\) has 3 masters/),
  ]);
});

test('docs/operations.md shows what doctor says of another list', async () => {
  const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const [, shown] = /transcript:lists -->\n```console\n\$ .*\n([\s\S]*?)```/.exec(page) ?? [];
  await recordSet(theirs, 'web1', 3 * 60 * 60 * 1000);
  const { stdout } = await graceful(['doctor']);
  const [found = ''] = /^.* lists:.*\n.*\n.*\n/m.exec(stdout) ?? [];
  const masked = found.replace(ours[0]?.url ?? '', 'redis://10.0.0.1:6379').replace('web1', 'web2');
  expect(masked.replace(/\(\S+ ago\)/, '(3h12m ago)')).toBe(shown);
});
