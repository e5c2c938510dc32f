// `redlockctl check NAME --succeeded-within`, `--max-skips`: whether a job still runs, by history.

import { expect, test } from 'vitest';
import { obedient, useMasters } from '../cli/rig.ts';
import { FaultyProxy } from '../servers/faulty-proxy.ts';
import { generous } from '../servers/patience.ts';
import { missedFor, runOf, took } from './history-rig.ts';
import { ctl } from './rig.ts';

const { masters, run, start } = useMasters(3);
const check = (...args: string[]) => ctl(masters, ['check', 'a', ...args]);
const nothing = { stdout: '', stderr: '' };
const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

test('a run that ended well', async () => {
  await run(['a', '--', 'true']);
  expect(await check('--succeeded-within', '25h', '--max-skips', '0')).toMatchObject({
    code: 0,
    ...nothing,
  });
  const { code, stdout } = await check('--succeeded-within', '25h', '--json');
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    {
      name: 'a',
      outcome: 'ok',
      skips: 0,
      succeededAt: expect.any(String),
      succeededAgoMs: expect.any(Number),
    },
  ]);
});

test('the last success is too long ago, or there is none', async () => {
  await took(masters, 'a', ago(26), runOf());
  await run(['a', '--', 'false']);
  expect(await check('--succeeded-within', '25h')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^redlockctl: overdue: "a": last success 1d2h\S* ago \(.*\)\n$/),
  });
  expect(await check('--succeeded-within', '27h')).toMatchObject({ code: 0, ...nothing });
  await run(['b', '--', 'false']);
  expect(await ctl(masters, ['check', 'b', '--succeeded-within', '25h'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^redlockctl: overdue: "b": no known success /),
  });
});

test('skips are counted since the last success, also of runs that gave up waiting', async () => {
  const holder = start(['a', '--', ...obedient()]);
  await holder.says('stdout', /ready/);
  for (let time = 0; time < 2; time += 1) await run(['-n', 'a', '--', 'true']);
  await run(['-w', '200ms', 'a', '--', 'true']);
  expect(await check('--max-skips', '3')).toMatchObject({ code: 0, ...nothing });
  expect(await check('--max-skips', '2')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^redlockctl: skipped: "a": 3 runs were skipped since .*\n$/),
  });
  holder.signal('SIGTERM');
  await holder.result;
  expect(await check('--max-skips', '2')).toMatchObject({ code: 1 });
  await run(['a', '--', 'true']);
  expect(await check('--max-skips', '0')).toMatchObject({ code: 0, ...nothing });
});

test('a run that gave up before the first answer had come is counted', async () => {
  const holder = start(['a', '--', ...obedient()]);
  await holder.says('stdout', /ready/);
  const proxies = await Promise.all(masters.map(({ url }) => FaultyProxy.start(url)));
  for (const proxy of proxies) proxy.delay(100);
  const env = { REDLOCK_MASTERS: proxies.map(({ url }) => url).join(',') };
  const { code, stderr } = await run(['-w', '50ms', 'a', '--', 'true'], { env });
  expect([code, stderr]).toEqual([75, expect.stringMatching(/^redlock-run: busy: /)]);
  expect(await check('--max-skips', '0')).toMatchObject({ code: 1, stdout: '' });
  holder.signal('SIGTERM');
  await holder.result;
  await Promise.all(proxies.map((proxy) => proxy.stop()));
});

test('one master that has the success is enough; no quorum 69; no history 78', async () => {
  await took(masters.slice(0, 1), 'a', ago(1), runOf());
  await took(masters, 'a', ago(0.5), missedFor({ token: 'x', record: null }));
  expect(await check('--succeeded-within', '2h')).toMatchObject({ code: 0 });
  expect(await ctl(masters, ['check', 'none', '--succeeded-within', '2h'])).toMatchObject({
    code: 78,
    stderr: expect.stringMatching(/^redlockctl: history: "none": there is none .*\n$/),
  });
  const down = [...masters.slice(0, 1), { url: 'unix:///nowhere/1' }, { url: 'unix:///nowhere/2' }];
  expect(await ctl(down, ['check', 'a', '--succeeded-within', '2h'])).toMatchObject({
    code: 69,
    stderr: expect.stringMatching(/^redlockctl: no quorum: "a": /m),
  });
});

test.each([
  [['check', '--max-skips', '1'], /NAME missing/],
  [['check', 'a', '--max-skips', 'x'], /--max-skips: "x": not a count/],
  [['check', 'a', '--succeeded-within', 'x'], /--succeeded-within: "x"/],
  [['check', 'a', '--succeeded-within', '1h', '--token', 't'], /--token/],
])('%j is a usage error', async (args, message) => {
  expect(await ctl(masters, args)).toMatchObject({
    code: 64,
    stderr: expect.stringMatching(message),
  });
});

const outcomesOf = async (name: string) => {
  const { stdout } = await ctl(masters, ['history', name, '--json']);
  return JSON.parse(stdout).runs.map(({ outcome }: { outcome: string }) => outcome);
};

test('killed runs, alone, shared and on a slot: their ends are unknown, no success', async () => {
  const forms = [['gone'], ['-s', 'gone-shared'], ['--slots', '2', 'gone-slot']];
  const names = forms.map((form) => form.at(-1) ?? '');
  const ofEach = () => Promise.all(names.map(outcomesOf));
  const jobs = forms.map((form) =>
    start(['--ttl', '4s', '-k', '200ms', ...form, '--', ...obedient()]),
  );
  await Promise.all(jobs.map((job) => job.says('stdout', /ready/)));
  expect(await ofEach()).toEqual(names.map(() => ['running']));
  for (const job of jobs) job.signal('SIGKILL');
  await Promise.all(jobs.map(({ result }) => result));
  await expect.poll(ofEach, { timeout: generous(20_000) }).toEqual(names.map(() => ['vanished']));
  const metrics = await ctl(masters, ['metrics']);
  for (const [index, name] of names.entries()) {
    const { stdout } = await ctl(masters, ['history', name]);
    expect(stdout).toMatch(/ end unknown\n .*killed, its host died, or .* cut off at its release/);
    expect(metrics.stdout).toContain(`redlock_runs{lock="${name}",outcome="vanished"} 1\n`);
    expect(await ctl(masters, ['check', name, '--succeeded-within', '25h'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^redlockctl: overdue: ".*": no known success /),
    });
    await run([...(forms[index] ?? []), '--', 'true']);
    expect(await outcomesOf(name)).toEqual(['vanished', 'ran']);
  }
  expect(await ctl(masters, ['check', 'gone', '--succeeded-within', '25h'])).toMatchObject({
    code: 0,
  });
});

test('less is shown nowhere: an end on one master, or a start on too few', async () => {
  const start = { v: 1, ...runOf(), outcome: 'vanished', heldMs: null };
  const begun = (name: string, at: number, token: string) =>
    masters[at]?.command(
      'hset',
      `{redlock:${name}}:facts:history`,
      `run ${token}`,
      `${Date.now()} ${JSON.stringify({ ...start, token })}`,
    );
  for (const at of [0, 1]) await begun('few', at, 'two');
  await begun('few', 0, 'one');
  expect(await outcomesOf('few')).toEqual(['vanished']);
  await took(masters.slice(2), 'few', ago(1), { ...runOf(), token: 'two' });
  expect(await outcomesOf('few')).toEqual(['ran']);
  for (const at of [0, 1, 2]) await begun('few', at, 'three');
  await masters[2]?.command('set', 'redlock:few', 'three', 'px', 60_000);
  expect(await outcomesOf('few')).toEqual(['ran']);
});
