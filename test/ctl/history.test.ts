// What `history` makes of known histories on the masters: every run once, in order, whatever lines
// a master has missed, repeated or been given by others.

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lchownSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { useMasters } from '../cli/rig.ts';
import { generous } from '../servers/patience.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { missedFor, runOf, theNight, took, utc } from './history-rig.ts';
import { answerOf, ctl, hold, newValue, record } from './rig.ts';

const { masters, run } = useMasters(3);
const ask = (...args: string[]) => answerOf(masters, ['history', ...args], utc);

test('of one night: why the job of 02:00 did not run', async () => {
  await theNight(masters);
  const { code, text, json } = await ask('nightly-backup');
  expect(code).toBe(0);
  expect(text).toMatch(
    new RegExp(
      '^2026-11-21 02:00:00 +ops@web1 \\d+ backup +10m +did not run\n' +
        ' {4}held by ops@web2, pid 4711, restore\\.sh, since 2026-11-20 22:00:00$',
      'm',
    ),
  );
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  const rows = text.split('\n').filter((line) => !line.startsWith(' '));
  expect(rows.map((line) => line.slice(0, 19))).toEqual([
    'BEGAN                NAME'.slice(0, 19),
    ...['2026-11-20 02:00:00', '2026-11-20 14:00:00', '2026-11-20 22:00:00', '2026-11-21 02:00:00'],
    ...['2026-11-21 04:00:00', '2026-11-21 06:00:00', ''],
  ]);
  expect(json.runs[3]).toEqual({
    name: 'nightly-backup',
    token: expect.any(String),
    host: 'web1',
    pid: expect.any(Number),
    user: 'ops',
    label: 'backup',
    note: null,
    url: null,
    count: 1,
    firstAt: null,
    beganAt: '2026-11-21T02:00:00.000Z',
    acquiredAt: null,
    endedAt: '2026-11-21T02:10:00.000Z',
    waitMs: 600_000,
    heldMs: null,
    outcome: 'busy',
    exitCode: null,
    signal: null,
    status: 75,
    fence: null,
    blocker: {
      kind: 'redlock-run',
      token: expect.any(String),
      host: 'web2',
      pid: 4711,
      user: 'ops',
      label: 'restore.sh',
      since: '2026-11-20T22:00:00.000Z',
      note: null,
      url: null,
    },
    masters: 3,
    stoppedBy: null,
    lossReason: null,
    unkillable: [],
  });
});

describe('every run once', () => {
  test('where a master has it twice, late, or not at all; by the median of the times', async () => {
    const [first, second, third] = masters as [never, never, never];
    const past = runOf({ heldMs: 1_000 });
    await took([first], 'a', '2026-11-21T02:00:00Z', past);
    await took([second], 'a', '2026-11-21T02:00:01Z', past);
    await took([second], 'a', '2026-11-21T02:00:09Z', past);
    await took([third], 'a', '2026-11-21T02:30:00Z', past);
    const minority = runOf();
    await took([third], 'a', '2026-11-21T02:31:00Z', minority);
    const { json } = await ask('a');
    expect(json.runs).toMatchObject([
      {
        token: past.token,
        endedAt: '2026-11-21T02:00:01.000Z',
        acquiredAt: '2026-11-21T02:00:00.000Z',
        masters: 3,
      },
      { token: minority.token, masters: 1 },
    ]);
  });

  test('without lines of others', async () => {
    await took(masters, 'a', '2026-11-21T02:00:00Z', 'not ours');
    await took(masters, 'a', '2026-11-21T02:00:01Z', '{"v":1}');
    await took(masters, 'a', '2026-11-21T02:00:02Z', JSON.stringify({ ...runOf(), v: 2 }));
    await took(masters, 'a', '2026-11-21T02:00:03Z', runOf());
    expect((await ask('a')).json.runs).toHaveLength(1);
  });

  test('with a key of another type in its place, or none: no runs', async () => {
    await masters[0]?.command('set', '{redlock:a}:runs:history', 'x');
    await masters[0]?.command('set', '{redlock:b}:facts:history', 'x');
    expect(await ask('a')).toMatchObject({ code: 0, text: '', json: { name: 'a', runs: [] } });
    expect(await ask('b')).toMatchObject({ code: 0, text: '', json: { name: 'b', runs: [] } });
  });
});

test('of a name of which nothing is known it says why there may be no line', async () => {
  const saidOf = async (...args: string[]) => (await ask(...args)).stderr;
  const advice = 'check the name; a run that ends with 69, 78, 126 or 127 may leave no line';
  expect(await saidOf('typo')).toBe(`redlockctl: no runs (${advice})\n`);
  expect(await saidOf()).toBe('redlockctl: no runs\n');
  await masters[0]?.command('set', 'redlock:foreign', 'x');
  expect(await saidOf('foreign')).toBe('redlockctl: no runs\n');
  await took(masters, 'a', '2026-11-21T02:00:00Z', runOf());
  expect(await saidOf('a', '--since', '1s')).toBe('redlockctl: no runs\n');
  expect((await ctl(masters, ['freeze', 'b', '--note', 'why'])).code).toBe(0);
  expect(await saidOf('b')).toBe('redlockctl: no runs\n');
});

test('a lock of redlockctl acquire is held, and no process runs; it leaves no line', async () => {
  const { stdout } = await ctl(masters, ['acquire', 'a', '--ttl', '1m']);
  expect((await ask('a')).text).toMatch(/ redlockctl .* held now$/m);
  expect((await ctl(masters, ['release', 'a', '--token', stdout.trim()])).code).toBe(0);
  expect((await ask('a')).json.runs).toEqual([]);
});

test('without a quorum it does not say that there were no runs', async () => {
  const nowhere = { REDLOCK_MASTERS: 'unix:///nowhere/1,unix:///nowhere/2,unix:///nowhere/3' };
  const { code, stdout, stderr } = await ctl(masters, ['history', 'a'], { env: nowhere });
  expect([code, stdout]).toEqual([69, '']);
  expect(stderr).toMatch(/\nredlockctl: no quorum: only 0 of 3 masters can tell\n$/);
});

test('without a name: also a lock whose first run has not ended', async () => {
  await took(masters, 'a', '2026-11-21T02:00:00Z', runOf());
  await hold(masters, 'first');
  await masters[0]?.command('set', 'redlock:foreign', 'x');
  expect((await ask()).json.runs).toMatchObject([
    { name: 'a', outcome: 'ran' },
    { name: 'first', outcome: 'running', endedAt: null },
  ]);
});

test('without a name: all locks under the prefix, the newest fifty, or --since', async () => {
  for (const name of ['a', 'b}', 'c*']) await took(masters, name, '2026-11-21T02:00:00Z', runOf());
  await masters[0]?.command('lpush', '{other:a}:runs:history', '1 x');
  await masters[0]?.command('zadd', '{other:}:names:history', 1, 'other:a');
  expect((await ask()).json.runs.map(({ name }: { name: string }) => name).sort()).toEqual([
    'a',
    'b}',
    'c*',
  ]);
  for (let minute = 0; minute < 60; minute += 1)
    await took(masters, 'a', `2026-11-21T03:${String(minute).padStart(2, '0')}:00Z`, runOf());
  const { text, stderr, json } = await ask();
  expect(json.runs).toHaveLength(50);
  expect(json.runs.at(-1).endedAt).toBe('2026-11-21T03:59:00.000Z');
  expect(text.split('\n')).toHaveLength(52);
  expect(stderr).toMatch(/^redlockctl: 50 runs; \d+ older left out/);
  await took(masters, 'fresh', new Date(Date.now() - 60_000).toISOString(), runOf());
  expect((await ask('fresh', '--since', '10m')).json.runs).toHaveLength(1);
  expect((await ask('fresh', '--since', '1s')).json.runs).toHaveLength(0);
});

test('of more than a thousand names only those that changed last, or since --since', async () => {
  const old = Date.now() - 2 * 86_400_000;
  for (const at of Array.from({ length: 1_100 }).keys()) {
    const takenAt = new Date(old + at * 60_000).toISOString();
    await took(masters, `order-${at}`, takenAt, runOf());
  }
  await took(masters, 'order-7', new Date().toISOString(), runOf());
  const { stderr, json } = await ask();
  const names = json.runs.map(({ name }: { name: string }) => name);
  expect(names).toHaveLength(50);
  expect([names.at(-1), names.at(-2)]).toEqual(['order-7', 'order-1099']);
  expect(stderr).toMatch(/^redlockctl: 50 runs; 951 and more older left out/);
  const recent = await ctl(masters, ['history', '--since', '10m', '--json']);
  expect(JSON.parse(recent.stdout).runs).toMatchObject([{ name: 'order-7' }]);
  const all = await ctl(masters, ['history', '--since', '20d', '--json']);
  expect(JSON.parse(all.stdout).runs).toHaveLength(1_101);
});

test('the running one is the last; a lock kept after its run has none', async () => {
  await run(['--hold-at-least', '1m', 'kept', '--', 'true']);
  expect((await ask('kept')).json.runs).toMatchObject([
    { outcome: 'ran', endedAt: expect.any(String) },
  ]);
  await hold(masters, 'a');
  const { json, text } = await ask('a');
  expect(json.runs).toMatchObject([
    { outcome: 'running', endedAt: null, acquiredAt: record.since, host: 'web1' },
  ]);
  expect(text).toMatch(/ held now$/m);
  expect(text).toContain('ops@web1 4711 deploy.sh');
});

test('of real runs: one that ran, one that gave up', async () => {
  const holder = run(['job', '--', 'sleep', '1.5']);
  await expect.poll(() => masters[2]?.get('redlock:job')).toBeTruthy();
  await run(['-w', '300ms', 'job', '--', 'true']);
  await holder;
  const { json } = await ask('job');
  expect(json.runs).toMatchObject([
    { outcome: 'ran', exitCode: 0, waitMs: expect.any(Number), masters: 3 },
    { outcome: 'busy', heldMs: null, status: 75, masters: 3 },
  ]);
  const [ran, missed] = json.runs;
  expect(missed.blocker).toMatchObject({ kind: 'redlock-run', token: ran.token, pid: ran.pid });
});

test('no quorum: what is known, and exit 69', async () => {
  const [first] = masters as [never];
  await took([first], 'a', '2026-11-21T02:00:00Z', runOf());
  const mostlyDown = [
    ...masters.slice(0, 1),
    { url: 'unix:///nowhere/1' },
    { url: 'unix:///nowhere/2' },
  ];
  const { code, json, stderr } = await answerOf(mostlyDown, ['history', 'a'], utc);
  expect({ code, count: json.runs.length }).toEqual({ code: 69, count: 1 });
  expect(stderr).toMatch(/nowhere\/1/);
});

describe('--html', () => {
  const folder = () => mkdtempSync(join(scratchFolder(), 'history-'));

  test('foreign text is escaped, and nothing is loaded', async () => {
    const nasty = '"><script>alert(1)</script>&\u0007\u202e\ud800';
    await masters[0]?.command('set', 'redlock:x', newValue());
    const blocker = { token: nasty, record: null };
    await took(
      masters,
      nasty,
      '2026-11-21T02:00:00Z',
      missedFor(blocker, { host: nasty, user: nasty, label: nasty }),
    );
    const file = join(folder(), 'h.html');
    expect(await ctl(masters, ['history', nasty, '--html', file], utc)).toMatchObject({
      code: 0,
      stdout: '',
    });
    const html = readFileSync(file, 'utf8');
    expect(html).toContain('&lt;script&gt;');
    for (const raw of ['<script', '\u0007', '\u202e', '="">']) expect(html).not.toContain(raw);
    expect(html).not.toMatch(/https?:|\bsrc=|@import|url\(/);
  });

  test.runIf(process.getuid?.() === 0)(
    'a link of another user in a folder that everyone can write to is not followed',
    async () => {
      const shared = folder();
      const [victim, planted, pipe] = ['victim', 'planted', 'pipe'].map((one) => join(shared, one));
      writeFileSync(victim as string, 'precious');
      symlinkSync('victim', planted as string);
      lchownSync(planted as string, 65_534, 65_534);
      execFileSync('mkfifo', [pipe as string]);
      chmodSync(shared, 0o1777);
      const html = (file: string) => ctl(masters, ['history', '--html', file], utc);
      expect(await html(planted as string)).toMatchObject({
        code: 74,
        stderr: expect.stringMatching(/--html: .*: a link of .*uid 65534/),
      });
      expect(await html(pipe as string)).toMatchObject({
        code: 74,
        stderr: expect.stringMatching(/--html: .*pipe/),
      });
      const metrics = await ctl(masters, ['metrics', '--textfile', planted as string]);
      expect(metrics).toMatchObject({
        code: 74,
        stderr: expect.stringMatching(/--textfile: .*: a link of .*uid 65534/),
      });
      expect(readFileSync(victim as string, 'utf8')).toBe('precious');
    },
  );

  test('a file that cannot be written: exit 74', async () => {
    await theNight(masters);
    const args = ['history', 'nightly-backup', '--html', '/nowhere/h.html'];
    expect(await ctl(masters, args, utc)).toMatchObject({
      code: 74,
      stderr: expect.stringMatching(/--html.*no such directory/),
    });
  });
});

test.each([['0'], ['soon']])('--since %s is a usage error', async (since) => {
  expect(await ctl(masters, ['history', '--since', since])).toMatchObject({ code: 64 });
});

test('foreign lines that are too long are left out, too many are cut off with a warning', {
  timeout: generous(60_000),
}, async () => {
  const script = `for i = 1, tonumber(ARGV[1]) do
    redis.call('RPUSH', KEYS[1], '1 ' .. string.rep('x', tonumber(ARGV[2])))
  end`;
  const fill = (name: string, ...sizes: number[]) =>
    Promise.all(
      masters.map((master) =>
        master.command('eval', script, 1, `{redlock:${name}}:runs:history`, ...sizes),
      ),
    );
  await fill('a', 20, 5_000);
  await took(masters, 'a', '2036-11-21T02:00:00Z', runOf());
  expect((await ask('a')).json.runs).toHaveLength(1);
  await fill('b', 1_200, 4_000);
  await took(masters, 'b', '2036-11-21T02:00:00Z', runOf());
  const { code, stdout, stderr } = await ctl(masters, ['history', 'b', '--json'], utc);
  expect(JSON.parse(stdout).runs).toHaveLength(1);
  expect(stderr).toMatch(
    /^redlockctl: unix:.*: keeps too much about "b": cut off, older runs may be missing$/m,
  );
  expect(code).toBe(69);
});

test('a long line is shortened in the table, in JSON and in the page', async () => {
  const long = 'x'.repeat(1_000);
  const line = {
    ...runOf(),
    signal: long,
    exitCode: null,
    outcome: 'ran',
    label: long,
    user: long,
  };
  await took(masters, 'a', '2026-11-21T02:00:00Z', JSON.stringify({ v: 1, ...line }));
  const { text, json } = await ask('a');
  expect(json.runs).toHaveLength(1);
  expect(JSON.stringify(json).length).toBeLessThan(1_000);
  expect(text.length).toBeLessThan(1_000);
});
