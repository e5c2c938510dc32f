// Breaking a lock: only the holder that was shown, only while its very value is there, and only
// when confirmed. The effect on a run is tested with a real one.

import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { effectOn, judged } from '../../src/ctl/break.ts';
import { countOf, isOnEach, useMasters } from '../cli/rig.ts';
import type { TestMaster } from '../servers/masters.ts';
import { generous } from '../servers/patience.ts';
import { eventually } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { obstacle, Terminal } from '../supervision/terminal.ts';
import { answerOf, ctl, hold, newValue, queueUp } from './rig.ts';

const rig = useMasters(3);
const { masters } = rig;
const key = 'redlock:deploy';
const all = () => masters as [TestMaster, TestMaster, TestMaster];
const tokenOf = (value: string) => value.split(' ')[0] ?? '';
const values = () => Promise.all(masters.map((master) => master.get(key)));

test('the run of a broken lock is stopped by its own redlock-run, and exits 79', async () => {
  const run = rig.start(['--ttl', '6s', 'deploy', '--', 'sh', '-c', 'echo ready; exec sleep 60']);
  // A lock that was acquired may be released and acquired again before its command begins.
  await run.says('stdout', /ready/);
  await expect.poll(() => countOf(masters, 'deploy')).toBe(3);
  const { code, stdout, stderr } = await ctl(masters, ['break', 'deploy', '--yes']);
  expect(stderr).toMatch(/"deploy": held by .*, sh, since /);
  expect(stdout).toMatch(
    /^broken: "deploy": removed on 3 of 3 masters; its holder, if alive, stops at once/,
  );
  expect(code).toBe(0);
  expect((await run.result).code).toBe(79);
  expect(await countOf(masters, 'deploy')).toBe(0);
});

test('--safely: the command of the broken lock ends before another begins', async () => {
  const folder = mkdtempSync(join(scratchFolder(), 'log-'));
  const log = join(folder, 'log');
  const job = [
    'sh',
    '-c',
    `trap 'echo "$0 ended" >>${log}; exit 1' TERM; echo "$0 began" >>${log}; sleep 60 & wait`,
  ];
  const first = rig.start(['--ttl', '3s', '-k', '200ms', 'deploy', '--', ...job, 'first']);
  // A lock that was acquired may be released and acquired again before its command begins.
  const hasBegun = () => existsSync(log) && readFileSync(log, 'utf8') === 'first began\n';
  await eventually('the command has begun', hasBegun);
  await expect.poll(() => countOf(masters, 'deploy')).toBe(3);
  const next = rig.start(['--ttl', '3s', 'deploy', '--', 'sh', '-c', `echo "next began" >>${log}`]);
  const { code, stdout } = await ctl(masters, ['break', 'deploy', '--yes', '--safely']);
  expect({ code, stdout }).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/others are kept out for another \S+, by when it has stopped\n$/),
  });
  expect((await answerOf(masters, ['status', 'deploy'])).json.locks[0].holders).toMatchObject([
    { label: 'redlockctl break', votes: 3 },
  ]);
  expect((await first.result).code).toBe(79);
  expect((await next.result).code).toBe(0);
  expect(readFileSync(log, 'utf8')).toBe('first began\nfirst ended\nnext began\n');
});

test('--safely leaves the lock of another alone, removes what never expires', async () => {
  const [one, two] = [newValue(), newValue()];
  for (const [at, value] of [one, two, two].entries())
    await all()[at as 0].command('set', key, value, 'px', 60_000);
  expect(
    (await ctl(masters, ['break', 'deploy', '--yes', '--safely', '--token', tokenOf(one)])).code,
  ).toBe(0);
  expect((await values()).slice(1)).toEqual([two, two]);
  expect(await values()).not.toContain(one);
  for (const master of masters) await master.command('set', key, one);
  expect((await ctl(masters, ['break', 'deploy', '--yes', '--safely'])).code).toBe(0);
  expect(await values()).toEqual([null, null, null]);
});

test('the first waiter is woken', async () => {
  await hold(masters, 'deploy');
  const leave = await queueUp(masters, 'deploy', 1);
  const calls: string[] = [];
  const close = await all()[0].hear([`{${key}}:wake:waiter1`], (channel) => calls.push(channel));
  expect((await ctl(masters, ['break', 'deploy', '-y'])).code).toBe(0);
  await close();
  expect(calls.length).toBeGreaterThan(0);
  await leave();
});

test('without a terminal and without --yes it breaks nothing', async () => {
  await hold(masters, 'deploy');
  const { code, stderr } = await ctl(masters, ['break', 'deploy']);
  expect(code).toBe(64);
  expect(stderr).toMatch(/held by ops@web1/);
  expect(stderr).toMatch(/redlockctl: break: no terminal to ask on \(say --yes/);
  await isOnEach(masters, 'deploy');
});

test('--token of another holder breaks nothing', async () => {
  await hold(masters, 'deploy');
  const { code, json } = await answerOf(masters, ['break', 'deploy', '--yes', '--token', 'other']);
  expect({ code, json }).toMatchObject({
    code: 75,
    json: { name: 'deploy', outcome: 'changed-hands', removed: 0 },
  });
  await isOnEach(masters, 'deploy');
});

test('--token chooses among holders, and the others stay', async () => {
  const [one, two] = [newValue(), newValue()];
  await all()[0].command('set', key, one);
  await all()[1].command('set', key, two);
  await all()[2].command('set', key, two);
  const asked = await ctl(masters, ['break', 'deploy', '--yes']);
  expect(asked).toMatchObject({
    code: 75,
    stderr: expect.stringMatching(/refused: "deploy": several holders/),
  });
  expect(await values()).toEqual([one, two, two]);
  expect((await ctl(masters, ['break', 'deploy', '--yes', '--token', tokenOf(one)])).code).toBe(0);
  expect(await values()).toEqual([null, two, two]);
});

describe.skipIf(obstacle !== null)('on a terminal', () => {
  let terminal: Terminal;
  beforeAll(async () => {
    terminal = await Terminal.open(masters);
  });
  afterAll(() => terminal.close());

  /** Starts a break up to its question, on a clear screen. */
  async function asked(): Promise<void> {
    await terminal.type('clear; ctl break deploy; echo "code $?"');
    // At the end: the question before this one may still be on the screen.
    await terminal.shows(/held by ops@web1[\s\S]*\[y\/N\]$/);
  }

  test('a lock that changed hands before the answer is left alone', async () => {
    await hold(masters, 'deploy');
    await asked();
    const next = newValue();
    for (const master of masters) await master.command('set', key, next);
    await terminal.type('y');
    await terminal.shows(
      /changed-hands: "deploy": held by someone else by now: left alone[\s\S]*code 75/,
    );
    expect(await values()).toEqual([next, next, next]);
  });

  test.each([
    ['n', 75, 3],
    ['', 75, 3],
    ['y', 0, 0],
  ])('the answer %j exits %i and leaves it on %i masters', async (answer, code, left) => {
    await hold(masters, 'deploy');
    await asked();
    await terminal.type(answer);
    await terminal.shows(new RegExp(`code ${code}\\b`));
    expect(await countOf(masters, 'deploy')).toBe(left);
  });
});

test('a key of another type is left alone', async () => {
  await Promise.all(masters.map((master) => master.command('hset', key, 'id', 1)));
  const { code, stderr } = await ctl(masters, ['break', 'deploy', '--yes']);
  expect(code).toBe(75);
  expect(stderr).toMatch(
    /refused: "deploy": a key of another type \(hash\), which cannot be compared/,
  );
  expect(await Promise.all(masters.map((master) => master.command('exists', key)))).toEqual([
    1, 1, 1,
  ]);
});

describe('a value that is not UTF-8', () => {
  const bytes = (last: number) =>
    `return redis.call('SET', KEYS[1], 'a\\130\\255\\${last}', 'PX', 60000)`;
  const put = (last: number) =>
    Promise.all(masters.map((master) => master.command('eval', bytes(last), 1, key)));

  test.each([[[]], [['--safely']], [['--token', 'a\\x82\\xff\\x84']]])(
    'is removed as it is (%j)',
    async (args) => {
      await put(132);
      const { code, stdout, stderr } = await ctl(masters, ['break', 'deploy', '--yes', ...args]);
      expect(stderr).toContain('another program (value a\\x82\\xff\\x84)');
      expect(stdout).toMatch(/^broken: "deploy": removed on 3 of 3 masters/);
      expect(code).toBe(0);
      const left = await values();
      expect(left.every((value) => value === null || value.includes('"redlockctl break"'))).toBe(
        true,
      );
    },
  );

  test('is not confused with another that looks the same as text', async () => {
    await put(132);
    const { code, json } = await answerOf(masters, [
      'break',
      'deploy',
      '--yes',
      '--token',
      'a\\x82\\xff\\x85',
    ]);
    expect({ code, json }).toMatchObject({
      code: 75,
      json: { outcome: 'changed-hands', removed: 0 },
    });
    expect(await Promise.all(masters.map((master) => master.command('strlen', key)))).toEqual([
      4, 4, 4,
    ]);
  });

  test('is shown by status in text and in JSON so that --token takes it', async () => {
    await put(132);
    const { text, json } = await answerOf(masters, ['status', 'deploy']);
    expect(text).toContain('token a\\x82\\xff\\x84\n');
    expect(json.locks[0]).toMatchObject({
      state: 'held',
      holders: [{ kind: 'string', token: 'a\\x82\\xff\\x84' }],
    });
  });
});

test('a value of megabytes is reported as such, and is not broken', {
  timeout: generous(60_000),
}, async () => {
  const script = "return redis.call('SET', KEYS[1], string.rep('x', 5000000), 'PX', 600000)";
  await Promise.all(masters.map((master) => master.command('eval', script, 1, key)));
  await hold(masters, 'other');
  const listed = await ctl(masters, ['list']);
  expect(listed).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/another program: a long value/),
  });
  expect(listed.stdout).toMatch(/^other +held +3\/3/m);
  const { code, stderr } = await ctl(masters, ['break', 'deploy', '--yes']);
  expect(stderr).toMatch(
    /refused: "deploy": a value too long to be one of a lock, which cannot be compared: left alone/,
  );
  expect(code).toBe(75);
  expect(await Promise.all(masters.map((master) => master.command('exists', key)))).toEqual([
    1, 1, 1,
  ]);
});

test('a list in place of the wait queue is reported, and the lock is broken', async () => {
  await hold(masters, 'deploy');
  await Promise.all(masters.map((master) => master.command('rpush', `{${key}}:queue`, 'x')));
  const { code, stdout, stderr } = await ctl(masters, ['break', 'deploy', '--yes']);
  expect(stderr).toMatch(/^redlockctl: unix:.*(WRONGTYPE|is a list)/m);
  expect(stdout).toMatch(/^broken: "deploy": removed on 3 of 3 masters/);
  expect(code).toBe(0);
  expect(await values()).toEqual([null, null, null]);
});

test("another library's string and an orphan are broken like any holder", async () => {
  await Promise.all(masters.map((master) => master.command('set', key, 'c3VwZXI')));
  const { code, stdout } = await ctl(masters, ['break', 'deploy', '--yes']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/removed on 3 of 3 masters; the program that set it is not told/);
  await all()[2].command('set', key, newValue());
  expect((await ctl(masters, ['break', 'deploy', '--yes'])).stdout).toMatch(
    /removed on 1 of 3 masters; nothing changes: the remainder kept no client out$/m,
  );
  expect(await values()).toEqual([null, null, null]);
});

test('a free lock: nothing to break', async () => {
  const { code, json, text } = await answerOf(masters, ['break', 'deploy', '--yes']);
  expect({ code, json }).toMatchObject({ code: 0, json: { outcome: 'free', removed: 0 } });
  expect(text).toBe('free: "deploy": nothing to break\n');
});

test('a majority down: nothing is broken, also not on the master that answers', async () => {
  await hold(masters, 'deploy');
  await Promise.all([all()[0].kill(), all()[1].kill()]);
  const { code, json } = await answerOf(masters, ['break', 'deploy', '--yes']);
  expect({ code, json }).toMatchObject({ code: 69, json: { outcome: 'no-quorum', removed: 0 } });
  expect(await all()[2].get(key)).not.toBeNull();
});

test.each([
  [
    'redlock-run',
    'held',
    false,
    /^its holder, if alive, stops .*, perhaps after another has begun$/,
  ],
  ['redlock-run', 'held', true, /^its holder, if alive, stops .* if it does not hear$/],
  ['redlock-run', 'orphan', false, /^nothing changes/],
  ['string', 'held', false, /^the program that set it is not told/],
  ['string', 'orphan', false, /^nothing changes/],
] as const)('the effect on a %s, %s, safely: %s', (kind, state, isSafe, expected) => {
  expect(effectOn({ kind, endedAt: null } as never, state, isSafe)).toMatch(expected);
});

test.each([
  [['released', 'released', 'failed'], 'broken', 0],
  [['released', 'failed', 'failed'], 'no-quorum', 69],
  [['released', 'missing', 'failed'], 'broken', 0],
  [['released', 'taken', 'taken'], 'broken', 0],
  [['taken', 'taken', 'missing'], 'changed-hands', 75],
  [['missing', 'missing', 'failed'], 'gone', 0],
  [['failed', 'failed', 'failed'], 'no-quorum', 69],
])('removal answered by %j is %s', (kinds, outcome, code) => {
  const failure = { cause: 'timeout', message: '' };
  expect(
    judged(
      kinds.map((kind) => ({ kind, ...failure }) as never),
      '',
    ),
  ).toMatchObject({ outcome, code });
});
