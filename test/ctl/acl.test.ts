// The rules that `acl` prints: under them both programs work on real servers, and with one command
// less they do not.

import { setTimeout as pass } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rulesOf } from '../../src/redis/rights.ts';
import { interpreter, program, type TestMaster, takeBy, useMasters } from '../cli/rig.ts';
import { eventually, isAlive } from '../servers/processes.ts';
import { ctl, hold } from './rig.ts';

const { masters, run, start } = useMasters(3);
let lines: string[];

beforeAll(async () => {
  lines = (await ctl(masters, ['acl'])).stdout.trim().split('\n');
  for (const line of lines) {
    const [, , ...args] = line.replace('PASSWORD', 'secret').split(' ');
    await Promise.all(masters.map((master) => master.command('acl', 'setuser', ...args)));
  }
});
afterAll(() =>
  Promise.all(
    masters.map((master) => master.command('acl', 'deluser', 'redlock-run', 'redlockctl')),
  ),
);

const as = (user: string) => ({ env: { REDLOCK_USERNAME: user, REDLOCK_PASSWORD: 'secret' } });

test('two lines for redis-cli, the rest on stderr', async () => {
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatch(
    new RegExp(
      '^ACL SETUSER redlock-run on >PASSWORD resetkeys ' +
        '~redlock:\\* ~\\{redlock:\\*\\}:\\* resetchannels &',
    ),
  );
  const { stdout } = await ctl(masters, ['acl', '--json']);
  const { version, users } = JSON.parse(stdout);
  expect(users).toEqual([
    { user: 'redlock-run', rules: rulesOf('redlock-run', 'redlock:', version, false) },
    { user: 'redlockctl', rules: rulesOf('redlockctl', 'redlock:', version, false) },
  ]);
});

test('neither user sees a password of the server, unless config|get is asked for', async ({
  skip,
}) => {
  const [master] = masters as [TestMaster];
  const info = String(await master.command('info', 'server'));
  skip(/^redis_version:6/m.test(info), 'ACL DRYRUN came with 7.0');
  for (const user of ['redlock-run', 'redlockctl']) {
    const dry = (...args: string[]) => master.command('acl', 'dryrun', user, ...args);
    for (const args of [
      ['config', 'get', '*'],
      ['acl', 'list'],
      ['acl', 'getuser', 'default'],
      ['client', 'list'],
    ]) {
      expect(String(await dry(...args)), args.join(' ')).toMatch(/no permissions/);
    }
  }
  const asked = await ctl(masters, ['acl', '--config-get']);
  expect(asked.stdout.match(/ \+config\|get$/gm)).toHaveLength(2);
  expect(asked.stderr).toMatch(/^redlockctl: warning: .*passwords/m);
});

test('a restarted master waits out its grace under these rules, durable or not', async () => {
  const [master] = masters as [TestMaster];
  // Two pairs in one CONFIG SET need version 7.
  await master.command('config', 'set', 'appendfsync', 'always');
  await master.command('config', 'set', 'appendonly', 'yes');
  const env = { ...as('redlock-run').env, REDLOCK_RESTART_GRACE: '1h' };
  const { code, stderr } = await run(['-n', 'graced', '--', 'true'], { env });
  await master.command('config', 'set', 'appendonly', 'no');
  expect([code, stderr]).toEqual([69, expect.stringMatching(/restarted \d+ s ago/)]);
});

test('redlock-run acquires, extends, waits, is woken and releases under its rules', async () => {
  const { env } = as('redlock-run');
  const command = ['sh', '-c', 'echo ready; read -r line'];
  const holder = start(['--ttl', '3s', '-k', '200ms', 'job', '--', ...command], {
    env,
    stdin: 'pipe',
  });
  await holder.says('stdout', /ready/);
  const waiter = start(['-v', 'job', '--', 'true'], { env });
  await waiter.says('stderr', /waiting/);
  await pass(1_500); // It is extended meanwhile.
  holder.child.stdin?.end('\n');
  const [first, second] = await Promise.all([holder.result, waiter.result]);
  expect(first.code).toBe(0);
  expect(second).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/waiting \d+s for "job": .*held by/),
  });
  expect(`${first.stderr}${second.stderr}`).not.toMatch(/permission|NOPERM/i);
});

test('redlockctl shows, lists and breaks under its rules', async () => {
  await takeBy('them', masters, 'job');
  const options = as('redlockctl');
  expect(await ctl(masters, ['status', 'job'], options)).toMatchObject({ code: 75 });
  expect(await ctl(masters, ['list'], options)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^job +held +3\/3/m),
  });
  expect(await ctl(masters, ['break', 'job', '--yes'], options)).toMatchObject({ code: 0 });
});

test('history: redlock-run writes, redlockctl reads, or says that a right is missing', async () => {
  expect(await run(['job', '--', 'true'], as('redlock-run'))).toMatchObject({
    code: 0,
    stderr: '',
  });
  const all = ['history', '--json'];
  const { stdout } = await ctl(masters, all, as('redlockctl'));
  expect(JSON.parse(stdout).runs).toMatchObject([{ name: 'job', masters: 3 }]);
  for (const master of masters) await master.command('acl', 'setuser', 'redlockctl', '-lrange');
  const denied = await ctl(masters, all, as('redlockctl'));
  await hold(masters, 'kept');
  const listed = await ctl(masters, ['list'], as('redlockctl'));
  for (const master of masters) await master.command('acl', 'setuser', 'redlockctl', '+lrange');
  expect(denied).toMatchObject({
    code: 69,
    stderr: expect.stringMatching(/can't run this command|has no permissions/),
  });
  expect(listed).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^kept +held +3\/3/m),
    stderr: '',
  });
});

test('a nested run under the enclosing lock, and redlockctl hold, under their rules', async () => {
  const inner = [interpreter, program, '--reentrant', 'job', '--', 'sleep', '2.2'];
  expect(
    await run(['--ttl', '6s', '-k', '200ms', 'job', '--', ...inner], as('redlock-run')),
  ).toMatchObject({
    code: 0,
    stderr: '',
  });
  const held = await ctl(
    masters,
    ['hold', 'job', '--background', '--json', '--ttl', '20s'],
    as('redlockctl'),
  );
  expect(held).toMatchObject({ code: 0, stderr: '' });
  const { token, pid } = JSON.parse(held.stdout);
  expect(await ctl(masters, ['release', 'job', '--token', token], as('redlockctl'))).toMatchObject({
    code: 0,
  });
  // By a wake-up, and not after a third of the ttl.
  await eventually('ended', () => !isAlive(pid), 2_000);
});

test('one master under the older protocol: both programs work under the same rules', async () => {
  const [master] = masters as [TestMaster];
  const old = { REDLOCK_PROTOCOL: 'setnx', REDLOCK_MASTERS: master.url };
  const env = { ...as('redlock-run').env, ...old };
  expect(
    await run(['--ttl', '6s', '-k', '200ms', 'old', '--', 'sleep', '2.5'], { env }),
  ).toMatchObject({
    code: 0,
    stderr: '',
  });
  const options = { env: { ...as('redlockctl').env, ...old } };
  await master.command('set', 'redlock:old', Math.floor(Date.now() / 1_000) + 60);
  expect((await ctl([], ['status', 'old'], options)).code).toBe(75);
  expect((await ctl([], ['break', 'old', '--yes', '--safely'], options)).code).toBe(0);
  expect((await ctl([], ['break', 'old', '--yes'], options)).code).toBe(0);
  expect((await ctl([], ['status', 'old'], options)).code).toBe(0);
});

test('neither may touch what is not a lock', async () => {
  const { stderr, code } = await ctl(
    masters,
    ['status', 'x', '--prefix', 'other:'],
    as('redlockctl'),
  );
  expect({ code, stderr }).toMatchObject({ code: 69 });
});

test.each(['zrange', 'scan', 'type'])(
  'without +%s redlockctl list is told so by every master',
  async (command) => {
    for (const master of masters)
      await master.command('acl', 'setuser', 'redlockctl', `-${command}`);
    await takeBy('them', masters, 'job');
    const { code, stderr, stdout } = await ctl(masters, ['list'], as('redlockctl'));
    for (const master of masters)
      await master.command('acl', 'setuser', 'redlockctl', `+${command}`);
    const denied = /can't run this command|has no permissions/;
    expect({ code, all: stdout + stderr }).toMatchObject({
      code: 69,
      all: expect.stringMatching(denied),
    });
  },
);

test('rules for 6.0 know no channels, and later ones do', () => {
  expect(rulesOf('redlock-run', 'redlock:', '6.0.16', false).join(' ')).not.toMatch(/channels|&/);
  expect(rulesOf('redlock-run', 'redlock:', '6.2.0', false)).toEqual(
    expect.arrayContaining(['resetchannels', '&{redlock:*}:wake:*']),
  );
});
