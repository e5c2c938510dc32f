// The line that every run stores on the masters: it is right for every outcome of a run, costs no
// command and no round trip of its own, and changes no outcome. test/ctl/history.test.ts reads it.

import { hostname } from 'node:os';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseRun, type RunEntry } from '../../src/lock/history.ts';
import {
  giveWayTo,
  locksOn,
  obedient,
  type TestMaster,
  takeBy,
  untilNothingIsLeft,
  useMasters,
} from './rig.ts';

const { masters, run, start } = useMasters(3);
let first: TestMaster;
beforeAll(() => {
  [first] = masters as [TestMaster];
});

async function linesOn(master: TestMaster, name: string): Promise<string[]> {
  return (await master.command('lrange', `{redlock:${name}}:runs:history`, 0, -1)) as string[];
}

async function runsOn(master: TestMaster, name: string): Promise<(RunEntry | null)[]> {
  const entries = await linesOn(master, name);
  return entries.map((entry) => parseRun(entry.replace(/^\d{13} /, ''))).reverse();
}

/** The one run of a lock, the same on at least so many masters: by default on all. */
async function runOf(name: string, minCount = 3): Promise<RunEntry | null> {
  const seen = () => Promise.all(masters.map((master) => runsOn(master, name)));
  // A run ends when a quorum has confirmed its release; the last line may still be under way.
  const countSeen = async () => (await seen()).flat().length;
  await expect.poll(countSeen).toBeGreaterThanOrEqual(minCount);
  const all = await seen();
  const [past = null, ...others] = all.flat();
  expect(Math.max(...all.map(({ length }) => length))).toBe(1);
  for (const other of others) expect(other).toEqual(past);
  return past;
}

const shape = (past: RunEntry | null) => [
  past?.outcome,
  past?.exitCode,
  past?.signal,
  past?.status,
];

const factsOn = async (name: string) => {
  const each = masters.map((master) => master.command('hkeys', `{redlock:${name}}:facts:history`));
  return (await Promise.all(each)).flat();
};

test('a run that goes on stands there, and no more when it has ended', async () => {
  const job = start(['begun', '--', 'sh', '-c', 'echo $REDLOCK_TOKEN; exec sleep 60']);
  const [, token] = await job.says('stdout', /^(\S+)$/m);
  await expect.poll(() => factsOn('begun')).toEqual(masters.map(() => `run ${token}`));
  for (const master of masters) expect(await linesOn(master, 'begun')).toEqual([]);
  job.signal('SIGTERM');
  await job.result;
  await expect.poll(() => factsOn('begun')).toEqual([]);
});

test('a run that leaves no history, or never gets the lock, stands nowhere', async () => {
  const silent = start(['--no-history', 'none', '--', ...obedient()]);
  await silent.says('stdout', /ready/);
  expect(await factsOn('none')).toEqual([]);
  silent.signal('SIGTERM');
  await silent.result;
  await takeBy('them', masters.slice(1), 'never');
  expect((await run(['-w', '300ms', 'never', '--', 'true'])).code).toBe(75);
  await expect.poll(() => factsOn('never')).toEqual([]);
});

describe('a line has the outcome, as --report has it', () => {
  test.each([
    ['failed', [], 'exit 3', ['ran', 3, null, 3]],
    ['died', [], 'kill -KILL $$', ['ran', null, 'SIGKILL', 137]],
    ['max-run', ['--max-run', '300ms'], 'sleep 30', ['max-run', null, 'SIGTERM', 124]],
  ])('%s', async (name, options, script, expected) => {
    await run([...options, name, '--', 'sh', '-c', `exec 2>/dev/null; ${script}`]);
    expect(shape(await runOf(name))).toEqual(expected);
  });

  test('the holder, the duration and the fencing number, and no secret', async () => {
    const script = 'sleep 0.5; echo $REDLOCK_TOKEN $REDLOCK_FENCE';
    const { stdout } = await run(['holder', '--', '/bin/sh', '-c', script, '--password=hunter2'], {
      env: { PASSWORD: 'hunter2' },
    });
    const past = await runOf('holder');
    expect(shape(past)).toEqual(['ran', 0, null, 0]);
    expect(JSON.stringify(await linesOn(first, 'holder'))).not.toMatch(/hunter2|password|bin/);
    expect(past).toMatchObject({
      host: hostname(),
      label: 'sh',
      user: expect.any(String),
      blocker: null,
    });
    expect(`${past?.token} ${past?.fence}\n`).toBe(stdout);
    expect(past?.heldMs).toSatisfy((ms) => Number(ms) >= 500 && Number(ms) < 5_000);
    expect(past?.waitMs).toBeLessThan(5_000);
  });

  test('gave up waiting: for how long, and for which holder', async () => {
    const holder = start(['patience', '--', ...obedient()]);
    await holder.says('stdout', /ready/);
    expect(await run(['-w', '500ms', 'patience', '--', 'true'])).toMatchObject({ code: 75 });
    const past = await runOf('patience');
    expect(shape(past)).toEqual(['busy', null, null, 75]);
    expect(past).toMatchObject({
      heldMs: null,
      fence: null,
      blocker: { record: { pid: holder.child.pid, label: 'sh' } },
    });
    expect(past?.waitMs).toSatisfy((ms) => Number(ms) >= 500 && Number(ms) < 5_000);
    holder.signal('SIGTERM');
    await holder.result;
  });

  test('waited and ran: for which holder; another program is named by its value', async () => {
    await takeBy('x'.repeat(1_000), masters, 'late');
    const waiter = start(['late', '--', 'true']);
    await giveWayTo(waiter, masters, 'late');
    await waiter.result;
    // A master where the key goes last may have refused a run that the others granted, and is not
    // asked to release anything then.
    expect(await runOf('late', 2)).toMatchObject({
      outcome: 'ran',
      blocker: { token: 'x'.repeat(40), record: null },
    });
  });

  test('stopped by a signal, while it ran and while it waited', async () => {
    const holder = start(['told', '--', ...obedient()]);
    await holder.says('stdout', /ready/);
    const waiter = start(['-v', 'told', '--', 'true']);
    await waiter.says('stderr', /waiting/);
    await expect.poll(() => first.command('zcard', '{redlock:told}:queue')).toBe(1);
    waiter.signal('SIGTERM');
    await waiter.result;
    expect(shape(await runOf('told'))).toEqual(['signal', null, null, 143]);
    holder.signal('SIGINT');
    await holder.result;
    expect((await runsOn(first, 'told')).map((past) => past?.outcome)).toEqual([
      'signal',
      'signal',
    ]);
    expect((await runsOn(first, 'told')).map((past) => past?.status)).toEqual([143, 130]);
  });

  // With a ttl that leaves the command the time to end by itself, also where the machine is busy.
  test('lost: the next holder keeps the lock', async () => {
    const job = start(['--ttl', '6s', 'lost', '--', ...obedient()]);
    await job.says('stdout', /ready/);
    await takeBy('them', masters, 'lost');
    expect(await job.result).toMatchObject({ code: 79 });
    expect(shape(await runOf('lost'))).toMatchObject(['lost', expect.anything(), null, 79]);
    expect(await first.get('redlock:lost')).toBe('them');
  });
});

test('none with --no-history', async () => {
  expect(await run(['--no-history', 'a', '--', 'true'])).toMatchObject({ code: 0 });
  expect(await first.keys()).toEqual(['{redlock:a}:fence']);
});

test('costs no command of its own: the masters get the same commands as without it', async () => {
  // The masters count alike, so that no fencing counter has to be raised.
  for (const master of masters) await master.command('set', '{redlock:a}:fence', 7);
  const [without, withIt] = [await sentBy(['--no-history']), await sentBy([])];
  // Both are inside of the release: commands of scripts are counted like those that are sent.
  expect(withIt.eval).toBe(without.eval);
  expect(withIt.lpush).toBe(1);
  expect(without.eval).toBeGreaterThan(1);
});

/** The counts of the commands that one run has sent to the first master. */
async function sentBy(options: readonly string[]): Promise<Record<string, number>> {
  await first.command('config', 'resetstat');
  await run([...options, 'a', '--', 'sleep', '0.2']);
  const stats = String(await first.command('info', 'commandstats'));
  const counts = [...stats.matchAll(/^cmdstat_(\S+):calls=(\d+)/gm)].map(([, name, calls]) => [
    name,
    Number(calls),
  ]);
  return Object.fromEntries(counts);
}

describe('masters that cannot store the line change no outcome', () => {
  const silent = { code: 3, stdout: '', stderr: '' };
  const job = ['a', '--', 'sh', '-c', 'exit 3'];

  test('something else in its place', async () => {
    const key = '{redlock:a}:runs:history';
    for (const master of masters) await master.command('set', key, 'theirs');
    expect(await run(job)).toMatchObject(silent);
    await untilNothingIsLeft(masters);
    expect(await first.get(key)).toBe('theirs');
  });

  test('no memory left', async () => {
    const running = start(['a', '--', ...obedient()]);
    await running.says('stdout', /ready/);
    for (const master of masters) await master.command('config', 'set', 'maxmemory', 1);
    running.signal('SIGTERM');
    const { stderr } = await running.result;
    for (const master of masters) await master.command('config', 'set', 'maxmemory', 0);
    expect(stderr).not.toMatch(/release/);
    expect(await locksOn(first)).toEqual([]);
    expect(await runsOn(first, 'a')).toEqual([]);
  });

  test('no right to it', async () => {
    const helpers = ['fence', 'queue', 'waiters', 'holders', 'freeze'].map(
      (name) => `~{redlock:*}:${name}`,
    );
    const rules = ['on', '>p', '~redlock:*', ...helpers];
    for (const master of masters)
      await master.command('acl', 'setuser', 'few', 'reset', ...rules, '&*', '+@all', '-zscore');
    // By its end every master has answered, and is waited for once more: the release takes two.
    const later = ['a', '--', 'sh', '-c', 'sleep 0.5; exit 3'];
    expect(
      await run(later, { env: { REDLOCK_USERNAME: 'few', REDLOCK_PASSWORD: 'p' } }),
    ).toMatchObject(silent);
    for (const master of masters) await master.command('acl', 'deluser', 'few');
    expect(await first.keys()).toEqual(['{redlock:a}:fence']);
  });
});
