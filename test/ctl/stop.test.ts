// Asking a holder to stop: at once, with its own signal and grace, with what stands in the history,
// and what is not a request.

import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { countOf, isOnEach, useMasters } from '../cli/rig.ts';
import type { TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { answerOf, ctl, hold } from './rig.ts';

const rig = useMasters(3);
const { masters } = rig;
const all = () => masters as [TestMaster, TestMaster, TestMaster];
/** So long that no extension falls into a test: whatever is noticed is noticed by a message. */
const sleeping = ['--ttl', '5m', 'deploy', '--', 'sleep', '60'];
const isHeld = () => expect.poll(() => countOf(masters, 'deploy')).toBe(3);

const channel = async () => {
  const value = await all()[0].get('redlock:deploy');
  return `{redlock:deploy}:wake:asked:${value?.split(' ')[0]}`;
};
const isListening = (on = all() as readonly TestMaster[]) =>
  eventually('the holder listens', async () => {
    const name = await channel();
    const counts = await Promise.all(on.map((one) => one.command('pubsub', 'numsub', name)));
    return counts.every((count) => (count as [string, number])[1] === 1);
  });

test('the holder stops its command by its own signal, names the asker, and exits 79', async () => {
  const log = join(mkdtempSync(join(scratchFolder(), 'log-')), 'log');
  const script = `trap 'echo USR1 >>${log}; exit 3' USR1; sleep 60 & wait`;
  const args = ['--ttl', '5m', '--signal', 'USR1', '--hold-at-least', '1h', 'deploy'];
  const run = rig.start([...args, '--', 'sh', '-c', script]);
  await isHeld();
  const { code, stdout, stderr } = await ctl(masters, ['stop', 'deploy', '--note', 'a "hotfix"']);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^stopped: "deploy": released after \S+\n$/),
  });
  expect(stderr).toMatch(/^redlockctl: asking: "deploy": .+, pid \d+, sh, since \S+\n$/);
  const ended = await run.result;
  expect(ended.code).toBe(79);
  expect(ended.stderr).toMatch(
    /^redlock-run: stopped: "deploy": asked by .+ \(pid \d+\): "a \\"hotfix\\"";.* exit code 3\n$/,
  );
  expect(readFileSync(log, 'utf8')).toBe('USR1\n');
  expect(await countOf(masters, 'deploy')).toBe(0);
  const { text, json } = await answerOf(masters, ['history', 'deploy']);
  expect(json.runs).toMatchObject([
    { outcome: 'stopped', status: 79, exitCode: 3, stoppedBy: { note: 'a "hotfix"' } },
  ]);
  expect(json.acts).toMatchObject([
    { act: 'stop', note: 'a "hotfix"', token: json.runs[0].token, masters: 3 },
  ]);
  expect(text).toMatch(/told to stop by .+ \(pid \d+\)\n[\s\S]*"a \\"hotfix\\""/);
  expect(text).toMatch(/asked the holder to stop\n[\s\S]*"a \\"hotfix\\""/);
});

test('a broken lock is noticed at once, and the person is named', async () => {
  const report = join(mkdtempSync(join(scratchFolder(), 'report-')), 'report.json');
  const hook = 'echo "hook: $REDLOCK_OUTCOME $REDLOCK_STATUS $REDLOCK_LOST by $REDLOCK_BY"';
  const run = rig.start(['--report', report, '--on-lost', hook, ...sleeping]);
  await isHeld();
  await isListening();
  const args = ['break', 'deploy', '--yes', '--note', 'stuck'];
  expect((await ctl(masters, args)).code).toBe(0);
  const { code, stderr } = await run.result;
  expect(code).toBe(79);
  expect(stderr).toMatch(
    /^redlock-run: lost: "deploy": broken by .+ \(pid \d+\): "stuck"; the command /m,
  );
  expect(stderr).toMatch(/^hook: lost 79 broken by \S+@\S+ \(pid \d+\): "stuck"$/m);
  const broken = { outcome: 'lost', lossReason: 'broken', stoppedBy: { note: 'stuck' } };
  expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject({ ...broken, status: 79 });
  const { json } = await answerOf(masters, ['history', 'deploy']);
  expect(json.runs).toMatchObject([broken]);
  expect(json.acts).toMatchObject([{ act: 'break', note: 'stuck' }]);
});

test('a holder of redlockctl hold releases the lock and exits 79', async () => {
  const { startCtl } = await import('./rig.ts');
  const held = startCtl(masters, ['hold', 'deploy', '--ttl', '5m']);
  await isHeld();
  expect((await ctl(masters, ['stop', 'deploy'])).code).toBe(0);
  expect((await held.result).code).toBe(79);
});

test('all holders of a shared lock are asked', async () => {
  const runs = [1, 2].map(() => rig.start(['--ttl', '5m', '-s', 'deploy', '--', 'sleep', '60']));
  const holders = '{redlock:deploy}:holders';
  const counts = () => Promise.all(masters.map((one) => one.command('zcard', holders)));
  await expect.poll(counts).toEqual([2, 2, 2]);
  expect((await ctl(masters, ['stop', 'deploy'])).code).toBe(0);
  expect(await Promise.all(runs.map(async ({ result }) => (await result).code))).toEqual([79, 79]);
});

test('of slots the runs that can hear are asked, and one that is kept is told: 75', async () => {
  const args = ['--ttl', '5m', '--slots', '2'];
  await rig.run([...args, '--hold-at-least', '10m', 'deploy', '--', 'true']);
  const run = rig.start([...args, 'deploy', '--', 'sleep', '60']);
  const holders = '{redlock:deploy}:holders';
  const counts = () => Promise.all(masters.map((one) => one.command('zcard', holders)));
  await expect.poll(counts).toEqual([2, 2, 2]);
  const { code, stderr } = await ctl(masters, ['stop', 'deploy']);
  expect((await run.result).code).toBe(79);
  expect(code).toBe(75);
  expect(stderr).toMatch(/its run has ended, the lock is kept/);
});

test('what one of three masters shows does not keep the holder from being asked', async () => {
  const run = rig.start(sleeping);
  await isHeld();
  await isListening();
  await all()[0].command('set', 'redlock:deploy', 'foreign', 'px', 60_000);
  expect((await ctl(masters, ['stop', 'deploy'])).code).toBe(0);
  expect((await run.result).code).toBe(79);
});

test('a master that was down when the holder began is heard after the next extension', async () => {
  all()[0].freeze();
  const run = rig.start(['--ttl', '3s', '-k', '200ms', 'deploy', '--', 'sleep', '60']);
  await expect.poll(() => countOf(all().slice(1), 'deploy')).toBe(2);
  all()[0].thaw();
  await eventually('it has the key again', async () => (await countOf(masters, 'deploy')) === 3);
  await isListening();
  expect((await ctl(masters, ['stop', 'deploy'])).code).toBe(0);
  expect((await run.result).code).toBe(79);
});

describe('what is not stopped', () => {
  test('free: 0', async () => {
    expect(await answerOf(masters, ['stop', 'deploy'])).toMatchObject({
      code: 0,
      text: 'free: "deploy": nothing to stop\n',
      json: { name: 'deploy', outcome: 'free' },
    });
  });

  test('a holder that does not hear: 75, and the lock stays', async () => {
    await hold(masters, 'deploy');
    expect(await answerOf(masters, ['stop', 'deploy'])).toMatchObject({
      code: 75,
      stderr: expect.stringMatching(
        /not heard: "deploy": the holder does not hear: .*redlockctl break/,
      ),
      json: { outcome: 'unheard' },
    });
    await isOnEach(masters, 'deploy');
  });

  test('another program: 75', async () => {
    for (const master of masters)
      await master.command('set', 'redlock:deploy', 'abc', 'px', 60_000);
    expect((await ctl(masters, ['stop', 'deploy'])).code).toBe(75);
  });

  test('a command that does not end in time: 75, after its time', async () => {
    const script = 'trap "" TERM; echo ready; while :; do sleep 1; done';
    const run = rig.start(['--ttl', '5m', '-k', '30s', 'deploy', '--', 'sh', '-c', script]);
    await run.says('stdout', /ready/);
    await isListening(); // A request before that is not heard, and the next one is due in a second.
    const { code, stderr } = await ctl(masters, ['stop', 'deploy', '-w', '1s']);
    expect({ code, stderr }).toEqual({
      code: 75,
      stderr: expect.stringMatching(
        /held: "deploy": asked, and still held after \S+ \(wait longer/,
      ),
    });
    run.child.kill('SIGTERM');
    expect((await run.result).code).toBe(79);
  });

  test('no quorum of masters: 69', async () => {
    const run = rig.start(sleeping);
    await isHeld();
    for (const master of all().slice(1)) master.freeze();
    expect((await ctl(masters, ['stop', 'deploy'])).code).toBe(69);
    for (const master of masters) master.thaw();
    run.child.kill('SIGTERM');
    await run.result;
  });

  test('a request on a minority of masters, of another token, or that is none', async () => {
    const run = rig.start(sleeping);
    await isHeld();
    await isListening();
    const name = await channel();
    const token = name.split('asked:')[1] ?? '';
    const by = { user: 'forger', host: 'h', pid: 1, note: null };
    const message = (changes: object) =>
      JSON.stringify({ v: 1, kind: 'stop', id: 'i', token, by, ...changes });
    const others = [message({ token: 'another' }), message({ v: 2 }), '', 'stop', '{}', 'null'];
    for (const other of [...others, message({ kind: 'broken' })])
      for (const master of masters) await master.command('publish', name, other);
    // One master says so three times.
    for (let count = 0; count < 3; count += 1) await all()[0].command('publish', name, message({}));
    const counting = message({ id: 'j', by: { ...by, user: 'u' } });
    for (const master of all().slice(1)) await master.command('publish', name, counting);
    const { code, stderr } = await run.result;
    expect(code).toBe(79);
    expect(stderr).toMatch(/asked by u@h \(pid 1\); the command was stopped/);
  });

  test.each([
    [['stop'], /NAME missing/],
    [['stop', 'deploy', '--note', ''], /--note: "": empty/],
    [['stop', 'deploy', '--note', 'x'.repeat(201)], /--note: 201 characters long \(at most 200\)/],
    [['stop', 'deploy', '-w', 'soon'], /"soon"/],
  ])('%j: 64', async (args, why) => {
    const { code, stderr } = await ctl(masters, args);
    expect({ code, stderr }).toEqual({ code: 64, stderr: expect.stringMatching(why) });
  });
});

/** How many connections each master has accepted. */
const connectionCounts = () =>
  Promise.all(
    masters.map(async (master) => {
      const stats = String(await master.command('info', 'stats'));
      return Number(/total_connections_received:(\d+)/.exec(stats)?.[1]);
    }),
  );

test('a command that ends at once costs the masters no second connection', async () => {
  // A holder listens after 250 ms. A busy machine may take so long for a command that ends at once:
  // that run did not, and the next one is looked at.
  await eventually('a command ends at once', async () => {
    const before = await connectionCounts();
    expect((await rig.run(['deploy', '--', 'true'])).code).toBe(0);
    const counts = (await connectionCounts()).map((count, at) => count - (before[at] as number));
    const { stdout } = await ctl(masters, ['history', 'deploy', '--json']);
    if (JSON.parse(stdout).runs.at(-1).heldMs >= 250) return false;
    expect(counts).toEqual([1, 1, 1]);
    return true;
  });
});
