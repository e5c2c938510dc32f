// A lock in steps: one process acquires it, others extend, check and release it, by the token
// alone.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ownershipOf } from '../../src/ctl/steps/lock-handle.ts';
import { environmentFor, locksOn, takeBy } from '../cli/rig.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { interpreter, pathOf, runCli, startCli } from '../servers/run-cli.ts';
import { ctl, startCtl } from './rig.ts';

let masters: TestMaster[] = [];
beforeAll(async () => {
  masters = await startMasters(3);
});
beforeEach(() => Promise.all(masters.map((master) => master.flush())));
afterAll(async () => {
  await stopAll();
  nothingLeft();
});

const run = (name: string, flags: readonly string[] = ['-n']) =>
  runCli([...flags, name, '--', 'true'], { env: environmentFor(masters) });

async function acquired(name: string, ...flags: string[]) {
  const { code, stdout } = await ctl(masters, ['acquire', name, '--json', ...flags]);
  expect(code).toBe(0);
  return JSON.parse(stdout) as {
    name: string;
    token: string;
    fence: number;
    ttlMs: number;
    validMs: number;
  };
}

test('acquired, shown, checked, extended, released; held for all that time', async () => {
  const handle = await acquired('deploy', '--ttl', '20s');
  expect(handle).toMatchObject({ name: 'deploy', ttlMs: 20_000, fence: expect.any(Number) });
  expect(handle.validMs).toBeGreaterThan(15_000);
  const { token } = handle;
  expect((await run('deploy')).code).toBe(75);
  expect(await ctl(masters, ['acquire', 'deploy', '-n'])).toMatchObject({ code: 75, stdout: '' });
  expect((await ctl(masters, ['status', 'deploy'])).stdout).toMatch(token);
  expect((await ctl(masters, ['check', 'deploy', '--token', token])).code).toBe(0);
  const extended = await ctl(masters, [
    'extend',
    'deploy',
    '--token',
    token,
    '--ttl',
    '1m',
    '--json',
  ]);
  expect(JSON.parse(extended.stdout)).toMatchObject({
    outcome: 'held',
    validMs: expect.toSatisfy((ms) => ms > 50_000),
  });
  // The verb waits for a quorum, and not for the slowest master.
  const left = await Promise.all(masters.map((one) => one.command('pttl', 'redlock:deploy')));
  expect(left.filter((ms) => Number(ms) > 50_000).length).toBeGreaterThanOrEqual(2);
  expect(await ctl(masters, ['release', 'deploy', '--token', token])).toMatchObject({ code: 0 });
  expect((await run('deploy')).code).toBe(0);
});

test('no step leaves a connection open', async () => {
  const { token } = await acquired('closed');
  const ofToken = ['closed', '--token', token];
  for (const args of [
    ['acquire', 'closed', '-n'],
    ['extend', ...ofToken],
    ['release', ...ofToken],
  ])
    await ctl(masters, args);
  const clientsOf = async (master: TestMaster) =>
    String(await master.command('client', 'list'))
      .trim()
      .split('\n').length;
  // That of the test itself.
  await expect.poll(() => Promise.all(masters.map(clientsOf))).toEqual([1, 1, 1]);
});

test('check counts only what is confirmed: less drift and the time of answers', async () => {
  const { token } = await acquired('rest', '--ttl', '10m');
  const { stdout } = await ctl(masters, ['check', 'rest', '--token', token, '--json']);
  const { validMs } = JSON.parse(stdout) as { validMs: number };
  expect(validMs).toBeGreaterThan(550_000);
  expect(validMs).toBeLessThanOrEqual(600_000 - 6_002);
});

test('a foreign value without expiry is held, without a time', async () => {
  for (const master of masters) await master.command('set', 'redlock:ever', 'them');
  const args = ['check', 'ever', '--token', 'them'];
  expect(await ctl(masters, args)).toMatchObject({ code: 0, stdout: 'held: "ever"\n' });
  expect(JSON.parse((await ctl(masters, [...args, '--json'])).stdout)).toMatchObject({
    outcome: 'held',
    validMs: null,
  });
});

test('the plain output is the token alone, and it may begin with a dash', async () => {
  expect((await ctl(masters, ['acquire', 'plain'])).stdout).toMatch(/^[\w-]{20,}\n$/);
  await takeBy('-dash', masters, 'dash');
  expect((await ctl(masters, ['check', 'dash', '--token', '-dash'])).code).toBe(0);
});

test('a waiter gets it when it is released', async () => {
  const { token } = await acquired('queue');
  const waiting = startCtl(masters, ['acquire', 'queue', '-w', '10s']);
  await eventually(
    'in the wait queue',
    async () => (await masters[0]?.command('zcard', '{redlock:queue}:queue')) === 1,
  );
  await ctl(masters, ['release', 'queue', '--token', token]);
  expect((await waiting.result).code).toBe(0);
});

test('a signal while it waits: nothing is left, and it ends by the signal', async () => {
  await takeBy('them', masters, 'held');
  const waiting = startCtl(masters, ['acquire', 'held']);
  await eventually(
    'in the wait queue',
    async () => (await masters[0]?.command('zcard', '{redlock:held}:queue')) === 1,
  );
  waiting.signal('SIGTERM');
  expect((await waiting.result).signal).toBe('SIGTERM');
  for (const master of masters)
    expect((await master.keys()).filter((key) => /:queue|:waiters/.test(key))).toEqual([]);
});

describe('lost', () => {
  test('another token, expired, held by another: 79, and foreign values stay', async () => {
    const { token } = await acquired('short', '--ttl', '1s');
    await eventually(
      'expired',
      async () => (await ctl(masters, ['check', 'short', '--token', token])).code === 79,
    );
    await takeBy('them', masters, 'short');
    for (const verb of ['check', 'extend', 'release']) {
      const { code, stderr } = await ctl(masters, [verb, 'short', '--token', token]);
      expect([verb, code]).toEqual([verb, 79]);
      expect(stderr).toMatch(/^redlockctl: lost: "short": /);
    }
    for (const master of masters) expect(await master.get('redlock:short')).toBe('them');
  });

  test('a majority that is down: 69, and never 79', async () => {
    const { token } = await acquired('down');
    for (const master of masters.slice(1)) await master.kill();
    const codes = [];
    for (const verb of ['check', 'extend', 'release']) {
      codes.push((await ctl(masters, [verb, 'down', '--token', token])).code);
    }
    for (const master of masters.slice(1)) await master.restart();
    expect(codes).toEqual([69, 69, 69]);
  });

  test('one of three is down: nothing is lost', async () => {
    const { token } = await acquired('minority');
    await masters[0]?.kill();
    const results = [];
    for (const verb of ['check', 'extend', 'release']) {
      results.push((await ctl(masters, [verb, 'minority', '--token', token])).code);
    }
    await masters[0]?.restart();
    expect(results).toEqual([0, 0, 0]);
  });
});

test('check needs no arguments inside a run, and a name and a token outside', async () => {
  const env = environmentFor(masters);
  const words = [interpreter, pathOf('redlockctl'), 'check'];
  const inside = await runCli(['inside', '--', ...words], { env });
  expect(inside).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^held: "inside": for another /),
  });
  expect(await ctl(masters, ['check'])).toMatchObject({ code: 64 });
  expect(await ctl(masters, ['extend', 'x'])).toMatchObject({ code: 64 });
});

test('what is refused is told what would help, as by redlock-run', async () => {
  const refusal = async (name: string, ...flags: string[]) =>
    (await ctl(masters, ['acquire', name, ...flags])).stderr;
  await acquired('deploy');
  expect(await refusal('deploy', '-n')).toMatch(/ \(wait with -w\)\n$/);
  expect(await refusal('deploy', '-w', '100ms')).toMatch(/ \(wait longer with -w\)\n$/);
  const command = ['sh', '-c', 'echo ready; exec sleep 60'];
  const env = environmentFor(masters);
  const job = startCli(['--slots', '2', 'farm', '--', ...command], { env });
  await job.says('stdout', /ready/);
  expect(await refusal('farm', '-n')).toContain('(with --slots 2, this one without: use one form');
  job.child.kill();
  await job.result;
  await ctl(masters, ['freeze', 'cold', '--note', 'db']);
  expect(await refusal('cold', '-n')).toContain('(redlockctl thaw ends it)');
});

describe('inside of two runs', () => {
  test('check finds the run that holds the name, and no verb waits for itself', async () => {
    const script = 'env; echo ready; read -r line';
    const inner = [interpreter, pathOf('redlock-run'), 'inner', '-c', script];
    const outside = { env: environmentFor(masters), stdin: 'pipe' } as const;
    const runs = startCli(['outer', 'other', '--', ...inner], outside);
    await runs.says('stdout', /^ready$/m);
    const told = [...runs.stdout.matchAll(/^(REDLOCK_(?:NAME|TOKEN|HELD)\w*)=(.*)$/gm)];
    const env = Object.fromEntries(told.map(([, name, value]) => [name, value]));
    const inside = (...args: string[]) => ctl(masters, args, { env });
    for (const name of ['outer', 'other', 'inner']) {
      const stdout = expect.stringContaining(`held: "${name}"`);
      expect(await inside('check', name)).toMatchObject({ code: 0, stdout });
    }
    const stderr = expect.stringContaining('"typo": no run');
    expect(await inside('check', 'typo')).toMatchObject({ code: 64, stderr });
    for (const verb of ['acquire', 'acquire --shared', 'hold', 'hold --background', 'wait']) {
      const { code, stdout, stderr } = await inside(...verb.split(' '), 'outer');
      expect([verb, code, stdout, stderr]).toEqual([
        verb,
        75,
        '',
        expect.stringContaining('busy: "outer": held by an enclosing run, which cannot end'),
      ]);
    }
    runs.child.stdin?.end('\n');
    expect(await runs.result).toMatchObject({ code: 0 });
  });

  test('what a run holds no more is waited for', async () => {
    const stale = { ...environmentFor(masters), REDLOCK_HELD: 'deploy' };
    const { token } = await acquired('deploy', '--ttl', '2s');
    const env = { ...stale, REDLOCK_HELD_LEASES: `${token.replace(/./g, 'x')}::2000` };
    expect(await ctl(masters, ['wait', 'deploy'], { env })).toMatchObject({ code: 0 });
  });
});

// The same of hold: hold.test.ts.
test('a ttl too short for any answer: refused', async () => {
  const { code, stderr } = await ctl(masters, ['acquire', 'x', '--ttl', '1ms']);
  const why = 'the lock could run out before a master has answered';
  const advice = 'raise ttl, or lower masterTimeout';
  expect([code, stderr]).toEqual([
    64,
    `redlockctl: --ttl: ttl 1ms, masterTimeout 50ms: ${why} (${advice})\n`,
  ]);
  const shared = { REDLOCK_PROTOCOL: 'setnx', REDLOCK_SHARED: '1' };
  for (const [env, line] of [
    [{ REDLOCK_TTL: '1ms' }, `REDLOCK_TTL: ttl 1ms, masterTimeout 50ms: ${why} (${advice})`],
    [
      { ...shared, REDLOCK_MASTERS: masters[0]?.url ?? '' },
      'REDLOCK_PROTOCOL: with REDLOCK_SHARED: setnx has one lock at a time, held exclusively ' +
        '(leave one out)',
    ],
  ] as const)
    expect(await ctl(masters, ['acquire', 'x'], { env })).toMatchObject({
      code: 78,
      stderr: `redlockctl: ${line}\n`,
    });
  for (const master of masters) expect(await locksOn(master)).toEqual([]);
});

test('ownership: a quorum decides, and silence is no answer', () => {
  const snapshot = (value: string | null) => ({
    type: 'string',
    value,
    remainingMs: 900,
    fence: 7,
    queue: [],
    holders: [],
    freeze: null,
    endings: [],
  });
  const silent = { kind: 'failed', cause: 'timeout', message: '' } as const;
  const of = (...values: (string | null | undefined)[]) =>
    ownershipOf(
      values.map((value, index) => ({
        master: `m${index}`,
        snapshot:
          value === undefined
            ? silent
            : { ...snapshot(value), type: value === null ? null : 'string' },
        restartFailure: null,
      })),
      't',
    ).kind;
  expect([of('t', 't', null), of('t', 't', undefined), of('t', 't', 'u')]).toEqual([
    'held',
    'held',
    'held',
  ]);
  expect([of('t', null, null), of('t', 'u', 'u'), of(null, null, undefined)]).toEqual([
    'lost',
    'lost',
    'lost',
  ]);
  expect([of('t', null, undefined), of('t', undefined, undefined)]).toEqual(['unknown', 'unknown']);
});

describe('what is configured reaches each verb, as it reaches redlock-run', () => {
  const json = async (args: string[], env: Record<string, string>) =>
    JSON.parse((await ctl(masters, [...args, '--json'], { env })).stdout);

  test('historyBytes: no act of a person removes the history of other locks', async () => {
    const env = { REDLOCK_HISTORY_BYTES: '1GB' };
    for (const name of ['one', 'two', 'held']) await run(name);
    // As if 100 MB were in use: by the usual 64 MB the others would have to go.
    const units = (100 * 1024 * 1024) / 64;
    for (const master of masters)
      await master.command('set', '{redlock:}:size:history', String(units));
    await ctl(masters, ['freeze', 'act', '--note', 'a move'], { env });
    await ctl(masters, ['thaw', 'act'], { env });
    await ctl(masters, ['hold', 'held', '--background'], { env });
    await ctl(masters, ['stop', 'held'], { env });
    await ctl(masters, ['acquire', 'held'], { env });
    expect((await ctl(masters, ['break', 'held', '--yes'], { env })).code).toBe(0);
    const { runs } = await json(['history'], env);
    const names = new Set(runs.map(({ name }: { name: string }) => name));
    expect([...names].sort()).toEqual(['held', 'one', 'two']);
  });

  test('fencing: no number is minted', async () => {
    const env = { REDLOCK_FENCING: 'false' };
    expect(await json(['acquire', 'plain'], env)).toMatchObject({ fence: null });
    const { token, fence } = await json(['hold', 'kept', '--background'], env);
    await ctl(masters, ['release', 'kept', '--token', token]);
    expect(fence).toBeNull();
    for (const master of masters)
      expect((await master.keys()).filter((key) => key.endsWith(':fence'))).toEqual([]);
  });

  test('giveUpAfter: 0 means that nothing is tried again without a quorum', async () => {
    const [last] = masters as [TestMaster];
    for (const master of masters.slice(1)) await master.kill();
    const counts: [string, number | null, boolean][] = [];
    for (const verb of ['acquire', 'hold', 'wait', 'run']) {
      await last.command('config', 'resetstat');
      const env = { REDLOCK_GIVE_UP_AFTER: '0' };
      const args = verb === 'run' ? ['down', '--', 'true'] : [verb, 'down'];
      const { code } = await (verb === 'run'
        ? runCli(args, { env: { ...environmentFor(masters), ...env } })
        : ctl(masters, args, { env }));
      const stats = String(await last.command('info', 'commandstats'));
      const sent = Number(/cmdstat_eval:calls=(\d+)/.exec(stats)?.[1] ?? 0);
      // An attempt and its rollback.
      counts.push([verb, code, sent <= 2]);
    }
    for (const master of masters.slice(1)) await master.restart();
    expect(counts).toEqual([
      ['acquire', 69, true],
      ['hold', 69, true],
      ['wait', 69, true],
      ['run', 69, true],
    ]);
  });
});

test('a server that can be no master is named, with 78', async () => {
  const [primary, replica] = await startMasters(2, { transport: 'tcp' });
  if (!primary || !replica) throw new Error('two were started');
  await replica.command('replicaof', '127.0.0.1', new URL(primary.url).port);
  const verbs = [
    ['release', 'deploy', '--token', 'T'],
    ['extend', 'deploy', '--token', 'T'],
    ['check', 'deploy', '--token', 'T'],
    ['freeze', 'deploy', '--note', 'why'],
  ];
  for (const verb of verbs) {
    const { code, stderr } = await ctl([replica], verb);
    expect([verb, code, stderr]).toEqual([verb, 78, expect.stringMatching(/is a replica/)]);
  }
});
