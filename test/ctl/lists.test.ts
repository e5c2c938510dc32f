// Lists of masters that differ between hosts, where redlockctl or the library takes the lock, and
// as doctor shows them. Those of redlock-run are in cli/membership.test.ts. Another host is a list
// of ours under its name.

import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { RedlockOptions } from '../../src/index.ts';
import { locksOn } from '../cli/rig.ts';
import { collector, errorOf, redlockOn } from '../library/rig.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { ctl } from './rig.ts';

const markKey = '{redlock:}:mark';
const ourField = `list:${hostname()}`;
const graced = { REDLOCK_RESTART_GRACE: '30s' };
const warning = / could grant a lock beside web1's: it has redis:\S+, redis:\S+ too.* \(give all/;

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
  await tellList(0);
});
afterAll(async () => {
  await stopAll();
  nothingLeft();
});

/** web1 has used its list so long ago. */
async function tellList(agoMs: number): Promise<void> {
  const addresses = Object.fromEntries(theirs.map(({ name, url }) => [name, url]));
  const told = `${Date.now() - agoMs} ${JSON.stringify([3, addresses])}`;
  for (const master of theirs) await master.command('hset', markKey, 'list:web1', told);
}

const listsOn = (masters: readonly TestMaster[]) =>
  Promise.all(masters.map((master) => master.command('hexists', markKey, ourField)));

const graceful = (args: readonly string[], env: Record<string, string> = {}, on = ours) =>
  ctl(on, args, { env: { ...graced, ...env } });

async function releaseByToken(stdout: string): Promise<void> {
  await graceful(['release', 'job', '--token', stdout.trim()]);
}

test.each([
  ['acquire', []],
  ['hold', ['--background', '--while-pid', String(process.pid)]],
])('redlockctl %s warns of it, and tells the masters our list', async (verb, flags) => {
  // A bare number of so many seconds is warned about: also once.
  const env = { REDLOCK_TTL: '3600' };
  const { code, stdout, stderr } = await graceful([verb, 'job', ...flags], env);
  expect(code, stderr).toBe(0);
  expect(stderr).toMatch(warning);
  expect(stderr.match(/warning: /g)).toHaveLength(2);
  await eventually('our list is on each', async () => !(await listsOn(ours)).includes(0));
  await releaseByToken(stdout);
});

test('with the same masters it says nothing; without a history nothing is written', async () => {
  const off = { REDLOCK_HISTORY: 'false' };
  const { code, stdout, stderr } = await graceful(['acquire', 'job'], off, theirs);
  expect([code, stderr]).toEqual([0, '']);
  expect(await listsOn(theirs)).toEqual([0, 0, 0]);
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
  expect(await listsOn(ours)).toEqual([0, 0, 0]);
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
  expect(told).toEqual([{ kind: 'masters-differ', host: 'web1', ...expectedDifference() }]);
  await eventually('our list is on each', async () => !(await listsOn(ours)).includes(0));

  for (const master of ours) await master.command('hdel', markKey, ourField);
  const { events: _, ...fails } = optionsOf('error');
  const error = await errorOf(redlockOn(ours, fails).acquire('job', 5_000));
  expect(error.kind).toBe('misconfigured');
  expect(error.message).toMatch(warning);
  for (const master of set) expect(await locksOn(master)).toEqual([]);

  const silent = optionsOf('ignore');
  const { events: heard, ...ignores } = silent;
  await redlockOn(ours, ignores).using('job', 5_000, () => {});
  expect(heard.filter(({ kind }) => kind === 'masters-differ')).toEqual([]);
  expect(await listsOn(ours)).toEqual([0, 0, 0]);
});

function expectedDifference() {
  const beside = (some: readonly TestMaster[], others: readonly TestMaster[]) =>
    some.filter((one) => !others.includes(one)).map(({ url }) => url);
  return {
    added: beside(theirs, ours).sort(),
    missing: beside(ours, theirs).sort(),
  };
}

test('doctor shows the lists and their hosts, and grades them as a run does', async () => {
  const told = async (on: readonly TestMaster[]) => {
    const { stdout } = await ctl(on, ['doctor', '--json'], { env: graced });
    const { findings } = JSON.parse(stdout);
    return findings
      .filter(({ check }: { check: string }) => check === 'lists')
      .map(({ grade, message }: { grade: string; message: string }) => `${grade}: ${message}`);
  };
  const urls = theirs.map(({ url }) => url).join(', ');
  expect(await told(ours)).toEqual([
    expect.stringMatching(/^warning: web1 \(\S+ ago\) has 3 masters: redis:/),
  ]);
  expect((await told(ours))[0]).toContain(urls);
  expect(await told(theirs)).toEqual([
    expect.stringMatching(/^ok: these masters are those of web1 \(\S+ ago\)$/),
  ]);
  await tellList(2 * 24 * 60 * 60 * 1000); // No run warns of it any more.
  expect(await told(ours)).toEqual([
    expect.stringMatching(/^ok: web1 \(2d\S* ago\) has 3 masters/),
  ]);
});

test('docs/operations.md shows what doctor says of another list', async () => {
  const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const [, shown] = /transcript:lists -->\n```console\n\$ .*\n([\s\S]*?)```/.exec(page) ?? [];
  await tellList(3 * 60 * 60 * 1000);
  const { stdout } = await graceful(['doctor']);
  const [found = ''] = /^.* lists:.*\n.*\n.*\n/m.exec(stdout) ?? [];
  // On the page it is the other host that has masters 4 and 5.
  const inPage = (text: string, { url }: TestMaster, at: number) =>
    text.replaceAll(url, `redis://10.0.0.${[1, 4, 5][at]}:6379`);
  const masked = theirs.reduce(inPage, found).replace('web1', 'web2');
  expect(masked.replace(/\(\S+ ago\)/, '(3h12m ago)')).toBe(shown);
});
