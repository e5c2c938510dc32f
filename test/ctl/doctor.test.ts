// The doctor on real servers with real faults: whether its facts are true, and whether its own lock
// leaves nothing behind. What it concludes from facts is tested in unit/ctl.

import { mkdtempSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lockCommandsOf } from '../../src/redis/rights.ts';
import { fileWith, useMasters } from '../cli/rig.ts';
import { startMasters, type TestMaster } from '../servers/masters.ts';
import { generous } from '../servers/patience.ts';
import { eventually } from '../servers/processes.ts';
import { type Answer, answerOf, ctl } from './rig.ts';

const { masters } = useMasters(3);

/** Asks as JSON alone: each doctor starts a guard, to see whether it can. */
async function jsonOf(masters: readonly TestMaster[], env = {}): Promise<Pick<Answer, 'json'>> {
  const { stdout } = await ctl(masters, ['doctor', '--json'], { env });
  return { json: JSON.parse(stdout) };
}

const said = ({ json }: Pick<Answer, 'json'>, check: string, url: string | null = null) => {
  const findings = json.findings.filter(
    (finding: { check: string; master: string | null }) =>
      finding.check === check && finding.master === url,
  );
  return findings
    .map(({ grade, message }: { grade: string; message: string }) => `${grade}: ${message}`)
    .join();
};

test('a server that refuses every client: its own words, and what to do', async () => {
  const [full] = (await startMasters(1, { transport: 'tcp' })) as [TestMaster];
  await full.command('config', 'set', 'maxclients', 1);
  const { json } = await jsonOf([full]);
  const finding = json.findings.find(({ check }: { check: string }) => check === 'reachable');
  expect(finding).toMatchObject({
    message: 'ERR max number of clients reached',
    fix: 'raise its maxclients',
  });
});

test('masters with one fault each: named, graded, with the fix', {
  timeout: generous(60_000),
}, async () => {
  const [durable] = (await startMasters(1, { persist: true })) as [TestMaster];
  const evict = { 'maxmemory-policy': 'allkeys-lru', maxmemory: '100mb' };
  const silent = {
    user: ['default', 'on', 'nopass', '~*', '&*', '+@all', '-info', '-config', '-role'],
  };
  const weak = { user: ['default', 'on', 'nopass', '~*', '&*', '+@all', '-zadd'] };
  const [evicting] = (await startMasters(1, { config: evict })) as [TestMaster];
  const [mute] = (await startMasters(1, { config: silent })) as [TestMaster];
  const [denied] = (await startMasters(1, { config: weak })) as [TestMaster];
  const [primary, replica] = (await startMasters(2, { transport: 'tcp' })) as [
    TestMaster,
    TestMaster,
  ];
  await replica.command('replicaof', '127.0.0.1', new URL(primary.url).port);
  await eventually('replicates', async () =>
    String(await primary.command('info')).includes('connected_slaves:1'),
  );
  const [frozen, down] = (await startMasters(2)) as [TestMaster, TestMaster];
  await Promise.all([frozen.freeze(), down.kill()]);
  const all = [durable, evicting, mute, denied, primary, replica, frozen, down];
  const answer = await answerOf(all, ['doctor']);
  expect(answer.code).toBe(78);
  expect(answer.json.worst).toBe('error');
  const grades = answer.json.findings.map(({ grade }: { grade: string }) => grade);
  const changes = grades.filter((grade: string, at: number) => grade !== grades[at - 1]);
  expect(changes).toEqual(['error', 'warning', 'unknown', 'ok']);
  expect({
    durable: said(answer, 'restart', durable.url),
    rights: said(answer, 'rights', durable.url),
    evicting: said(answer, 'eviction', evicting.url),
    forgetful: said(answer, 'restart', evicting.url),
    mute: ['version', 'mode', 'role', 'eviction', 'restart'].map(
      (check) => said(answer, check, mute.url).split(':')[0],
    ),
    denied: said(answer, 'rights', denied.url),
    primary: said(answer, 'replicas', primary.url),
    replica: said(answer, 'role', replica.url),
    replicaRights: said(answer, 'rights', replica.url).split(':')[0],
    frozen: said(answer, 'reachable', frozen.url),
    down: said(answer, 'reachable', down.url),
    duplicates: said(answer, 'duplicates'),
    hosts: said(answer, 'hosts'),
    count: said(answer, 'count'),
    quorum: said(answer, 'quorum'),
  }).toEqual({
    durable: 'ok: says that it keeps every change over a restart',
    rights: 'ok: a lock can be acquired, waited for, extended and released',
    evicting: 'error: maxmemory-policy is allkeys-lru',
    forgetful: 'error: keeps nothing over a restart',
    mute: ['unknown', 'unknown', 'unknown', 'unknown', 'unknown'],
    denied: 'error: no lock can be kept: no right to ZADD',
    primary: 'warning: has 1 replica',
    replica: 'error: is a replica',
    replicaRights: 'error',
    frozen: 'error: no answer within 1500 ms',
    down: 'error: connection refused',
    duplicates: 'unknown: 1 master does not tell a run_id',
    hosts: 'warning: 8 on this machine',
    count: 'warning: 8 masters: 3 may fail',
    quorum: 'error: no quorum: 4 of 8 masters keep locks, 5 are needed',
  });
  expect(answer.text).toContain(
    `error: eviction: ${evicting.url}: maxmemory-policy is allkeys-lru\n` +
      '  why: an evicted lock is granted',
  );
  expect(answer.text).toContain(
    `fix: redis-cli -s ${evicting.url.replace('unix://', '')} ` +
      'CONFIG SET maxmemory-policy noeviction',
  );
  expect(await durable.keys()).toEqual([]);
});

test('its own lock tries every command that a lock may need, and leaves nothing', async () => {
  const [master] = masters as [TestMaster];
  await master.command('config', 'resetstat');
  await ctl(masters, ['doctor']);
  const stats = String(await master.command('info', 'commandstats'));
  // SELECT is sent only for a database other than the first.
  const untried = lockCommandsOf('redlock').filter(
    (command) => !stats.includes(`cmdstat_${command}:`),
  );
  expect(untried).toEqual(['select']);
  expect(await master.keys()).toEqual([]);
});

test('missing rights are named, one or all of them, and nothing is left', async () => {
  const rules = ['default', 'on', 'nopass', '~*', '&*', '+@all'];
  const scripted = lockCommandsOf('redlock').filter(
    (command) => !/eval|select|info|role|config|subscribe|time/.test(command),
  );
  const cases = [['pexpire'], ['set'], ['publish', 'zadd', 'zrem'], scripted];
  for (const missing of cases) {
    const user = [...rules, ...missing.map((command) => `-${command}`)];
    const [master] = (await startMasters(1, { config: { user } })) as [TestMaster];
    const expected = [...missing]
      .sort()
      .map((command) => command.toUpperCase())
      .join(', ');
    expect(said(await jsonOf([master]), 'rights', master.url)).toBe(
      `error: no lock can be kept: no right to ${expected}`,
    );
    await master.command('acl', 'setuser', 'default', '+@all');
    await expect.poll(() => master.keys()).toEqual([]);
  }
});

test('under the older protocol it needs only the rights of that protocol', async () => {
  const env = { REDLOCK_PROTOCOL: 'setnx' };
  const rights = async (missing: string[], env = {}) => {
    const user = [
      'default',
      'on',
      'nopass',
      '~*',
      '&*',
      '+@all',
      ...missing.map((command) => `-${command}`),
    ];
    const [master] = (await startMasters(1, { config: { user } })) as [TestMaster];
    const answer = said(await jsonOf([master], env), 'rights', master.url);
    const stats = String(await master.command('info', 'commandstats'));
    await master.command('acl', 'setuser', 'default', '+@all');
    await expect.poll(() => master.keys()).toEqual([]);
    return { answer, hasQueue: stats.includes('cmdstat_zrange:') };
  };
  const answers = await Promise.all([
    rights(['zadd']),
    rights(['zadd', 'zrange', 'zrem', 'subscribe'], env),
    rights(['zadd', 'pttl'], env),
  ]);
  expect(answers).toEqual([
    { answer: 'error: no lock can be kept: no right to ZADD', hasQueue: true },
    { answer: 'ok: a lock can be acquired, waited for, extended and released', hasQueue: false },
    { answer: 'error: no lock can be kept: no right to PTTL', hasQueue: false },
  ]);
});

test('the command that it suggests fixes the fault', async () => {
  const [evicting] = (await startMasters(1, {
    config: { 'maxmemory-policy': 'allkeys-lru', maxmemory: '100mb' },
  })) as [TestMaster];
  const { json } = await jsonOf([evicting]);
  const { fix } = json.findings.find(({ check }: { check: string }) => check === 'eviction');
  const [, args = ''] = / (CONFIG SET .*)$/.exec(fix) ?? [];
  const [command = '', ...others] = args.split(' ');
  await evicting.command(command, ...others);
  expect(said(await jsonOf([evicting]), 'eviction', evicting.url)).toBe('ok: never evicts');
});

test('without errors it exits 0, and 1 under --strict where there are warnings', async () => {
  const env = { REDLOCK_RESTART_GRACE: '1s' };
  await expect
    .poll(async () =>
      Number(/uptime_in_seconds:(\d+)/.exec(String(await masters[0]?.command('info')))?.[1]),
    )
    .toBeGreaterThan(1);
  const [lenient, strict] = await Promise.all([
    ctl(masters, ['doctor'], { env }),
    ctl(masters, ['doctor', '--strict'], { env }),
  ]);
  expect({ code: lenient.code, strict: strict.code }).toEqual({ code: 0, strict: 1 });
  const accepting = (...args: string[]) =>
    ctl(masters, ['doctor', '--strict', ...args], { env }).then(({ code, stderr }) => [
      code,
      stderr,
    ]);
  const answers = await Promise.all([
    accepting('--accept', 'hosts', '--accept', 'restart'),
    accepting('--accept', 'hosts', 'restart'),
    accepting('--accept', 'hosts,restart'),
    accepting('--accept', 'mode'),
    accepting('--accept', 'host'),
    accepting('--accept', 'hosts', 'restart', 'freezes'),
    accepting('hosts'),
  ]);
  expect(answers).toEqual([
    [0, ''],
    [0, ''],
    [0, ''],
    [1, ''],
    [64, expect.stringMatching(/^redlockctl: --accept: "host": no finding .*did you mean hosts/)],
    [0, ''],
    [64, expect.stringMatching(/^redlockctl: doctor: "hosts": unexpected argument/)],
  ]);
  expect(lenient.stdout).toMatch(/^warning: hosts: 3 on this machine$/m);
  expect(lenient.stdout).toMatch(/^restart +3 masters +does not vote for 1s after a restart$/m);
  for (const master of masters) expect(await master.keys()).toEqual([]);
});

test('a server listed twice, one just restarted, and a file with a readable password', async () => {
  const [first, second] = masters as [TestMaster, TestMaster, TestMaster];
  const other = join(mkdtempSync(join(first.directory, 'o')), 's');
  symlinkSync(first.url.replace('unix://', ''), other);
  await second.restart();
  const urls = [first.url, second.url, `unix://${other}`].map((url) => `  - ${url}\n`).join('');
  const config = fileWith(`restartGrace: 1h\npassword: secret\nmasters:\n${urls}`, 0o644);
  const none = { REDLOCK_MASTERS: undefined, REDLOCK_RESTART_GRACE: undefined };
  const answer = await answerOf([], ['doctor', '--config', config], { env: none as never });
  expect(said(answer, 'duplicates')).toMatch(/^error: unix:.* is the same server as unix:.*\/o/);
  expect(said(answer, 'restart', second.url)).toMatch(
    /^warning: restarted \S+ ago: does not vote for another \S+$/,
  );
  expect(said(answer, 'configFile')).toBe(
    `error: ${config}: holds a password and is readable by others`,
  );
  expect(answer.text).toContain(`fix: chmod 600 ${config}`);
  expect(answer.text + answer.stderr).not.toContain('secret');
});
