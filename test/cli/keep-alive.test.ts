// The lock while the command runs: held on a quorum all the time, also when a minority fails, and
// for as long as --hold-at-least says. loss.test.ts has the losses.

import { expect, test } from 'vitest';
import { startMasters } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import {
  type CliRun,
  countOf,
  environmentFor,
  isOnEach,
  linesOf,
  obedient,
  type TestMaster,
  untilNothingIsLeft,
  useMasters,
} from './rig.ts';

// On TCP, where a slow server reads also the release of a client that has ended.
const { masters, run, start } = useMasters(3, { transport: 'tcp' });

/** Polls until the job prints "over" or ends; returns the fewest masters that showed its value. */
async function fewestHolding(job: CliRun, name: string): Promise<number> {
  let hasEnded = false;
  job.child.once('exit', () => {
    hasEnded = true;
  });
  const isRunning = () => !hasEnded && !job.stdout.includes('over');
  let fewest = Number.POSITIVE_INFINITY;
  while (isRunning()) {
    const count = await countOf(masters, name);
    if (isRunning()) fewest = Math.min(fewest, count);
  }
  return fewest;
}

test('a job of 8 s under --ttl 3s: held on a quorum all along, free afterwards', async () => {
  const command = 'echo ready; sleep 8; echo over; sleep 0.3';
  // With the usual grace of a second, a machine that stands still for half a second loses the lock.
  const job = start(['--ttl', '3s', '-k', '200ms', 'long', '--', 'sh', '-c', command]);
  await job.says('stdout', /ready/);
  const fewest = await fewestHolding(job, 'long');
  expect(await job.result).toMatchObject({ code: 0, stderr: '' });
  expect(fewest).toBeGreaterThanOrEqual(2);
  await untilNothingIsLeft(masters);
  expect(await run(['-n', 'long', '--', 'true'])).toMatchObject({ code: 0 });
});

test.each([
  ['nothing without -v', [], /^$/],
  [
    'a warning with -v',
    ['-v'],
    /redlock-run: warning: .*: .*; the lock needs only a quorum of the masters\n/,
  ],
])('one of three masters killed: the job goes on; %s', async (_title, flags, said) => {
  const command = 'echo ready; sleep 2.2; echo over';
  const env = { REDLOCK_MASTER_TIMEOUT: '300ms' };
  const job = start(
    ['--ttl', '3s', '-k', '500ms', ...flags, 'minority', '--', 'sh', '-c', command],
    { env },
  );
  await job.says('stdout', /ready/);
  await masters[0]?.kill();
  const { code, stdout, stderr } = await job.result;
  await masters[0]?.restart();
  expect([code, stdout]).toEqual([0, 'ready\nover\n']);
  expect(stderr).toMatch(said);
  await untilNothingIsLeft(masters);
});

test('one master after the other restarts empty: each is repaired', async () => {
  const job = start(['--ttl', '3s', '-k', '200ms', 'empty', '--', ...obedient()]);
  await job.says('stdout', /ready/);
  for (const master of masters) {
    await master.restart();
    await eventually('repaired', async () => (await countOf(masters, 'empty')) === 3);
  }
  job.signal('SIGTERM');
  expect(await job.result).toMatchObject({ signal: 'SIGTERM', stderr: '' });
  await untilNothingIsLeft(masters);
});

test('a majority down from the start: 69 in seconds, and no key is left', async () => {
  for (const master of masters.slice(1)) await master.kill();
  const env = { REDLOCK_GIVE_UP_AFTER: '1s' };
  const results = await Promise.all([
    run(['gone', '--', 'echo', 'never'], { env }),
    run(['-w', '1s', 'gone', '--', 'echo', 'never']),
    run(['-n', 'gone', '--', 'echo', 'never']),
  ]);
  for (const master of masters.slice(1)) await master.restart();
  expect(results.map(({ code, stdout }) => [code, stdout])).toEqual(Array(3).fill([69, '']));
  for (const { elapsedMs, stderr } of results) {
    expect(elapsedMs).toBeLessThan(9_000); // Without these limits it is ten seconds.
    expect(linesOf(stderr)).toEqual([
      expect.stringMatching(/^redlock-run: no quorum: "gone": .*connection refused/),
    ]);
  }
  expect(results.map(({ stderr }) => / gave up after (\S+) /.exec(stderr)?.[1])).toEqual([
    '1s',
    undefined,
    undefined,
  ]);
  await untilNothingIsLeft(masters);
});

test('a majority that comes back while it waits: the job runs', async () => {
  for (const master of masters.slice(1)) await master.kill();
  const job = start(['-v', 'back', '--', 'echo', 'ran']);
  await job.says('stderr', /waiting .*no quorum: /);
  for (const master of masters.slice(1)) await master.restart();
  expect(await job.result).toMatchObject({ code: 0, stdout: 'ran\n' });
});

test('--hold-at-least: the masters keep the key, and no process does', async () => {
  const startedAt = performance.now();
  const job = start(['--hold-at-least', '5s', 'kept', '--', 'true']);
  expect(await job.result).toMatchObject({ code: 0, stderr: '' });
  expect(performance.now() - startedAt).toBeLessThan(4_900);
  expect(job.survivors()).toEqual([]);
  const refused = await run(['-n', 'kept', '--', 'true']);
  expect(refused.code).toBe(75);
  const why = '; kept 5s at least, also after its run (--hold-at-least); lease ends in ';
  expect(refused.stderr).toContain(why);
  await isOnEach(masters, 'kept');
  const later = await run(['-w', '15s', 'kept', '--', 'true']);
  expect(later).toMatchObject({ code: 0 });
  expect(performance.now() - startedAt).toBeGreaterThan(5_000);
});

test.each([
  ['a command that could not be started', ['--', 'there-is-no-such-program'], 127],
  ['a run that was never to hold', ['--', 'sh', '-c', 'exit 3'], 3],
])('--hold-at-least and %s', async (title, args, expected) => {
  expect(await run(['--hold-at-least', '1s', 'never', ...args])).toMatchObject({ code: expected });
  expect(await countOf(masters, 'never')).toBe(title.startsWith('a command') ? 0 : 3);
});

test('masters that have just started do not vote for one ttl by default', async () => {
  // A master that is slow to read the release keeps the key, where the run has ended by then.
  const env = { REDLOCK_RESTART_GRACE: undefined, REDLOCK_MASTER_TIMEOUT: '10s' };
  const refused = await run(['--ttl', '1h', '-n', 'young', '--', 'true'], { env });
  expect(refused.code).toBe(69);
  expect(refused.stderr).toMatch(
    /restarted \d+ s ago .* may have forgotten .*: counts again within \d+ s/,
  );
  await untilNothingIsLeft(masters);
  const single = {
    ...env,
    ...environmentFor(masters.slice(0, 1)),
    REDLOCK_RESTART_GRACE: undefined,
  };
  const results = await Promise.all([
    run(['--ttl', '1h', '-n', 'a', '--', 'true']),
    run(['--ttl', '1h', '-n', 'b', '--', 'true'], { env: single }),
  ]);
  expect(results.map(({ code }) => code)).toEqual([0, 0]);
});

test('an empty disk in the place of a full one: no second holder, whatever it says', async () => {
  const set = (await startMasters(3, { persist: true, transport: 'tcp' })) as TestMaster[];
  const [first, emptied, absent] = set as [TestMaster, TestMaster, TestMaster];
  for (const master of set) await master.markLongAgo('redlock:');
  // No extension, which would repair the masters, comes between.
  const env = { ...environmentFor(set), REDLOCK_RESTART_GRACE: undefined, REDLOCK_TTL: '1h' };
  await absent.kill();
  const holder = start(['paid', '--', ...obedient()], { env });
  await holder.says('stdout', /ready/);
  await absent.restart();
  await emptied.replaceDisk();
  const second = await run(['-v', '-n', 'paid', '--', 'echo', 'twice'], { env });
  expect(second).toMatchObject({ code: 75, stdout: '' });
  const lost = 'was found without its mark \\d+ s ago \\(it is new, or was emptied\\)';
  const why = `${emptied.url}: restarted \\d+ s ago and ${lost}`;
  expect(second.stderr).toMatch(new RegExp(why));
  // Without the only master that knows the holder.
  await first.kill();
  const third = await run(['-n', 'paid', '--', 'echo', 'twice'], { env });
  expect(third).toMatchObject({ code: 69, stdout: '' });
  expect(third.stderr).toMatch(new RegExp(why));
  await first.restart();
  holder.signal('SIGTERM');
  expect(await holder.result).toMatchObject({ signal: 'SIGTERM' });
});

test('three new masters wait for one restart grace, once', async () => {
  const set = await startMasters(3, { persist: true });
  const graced = { REDLOCK_RESTART_GRACE: '3s', REDLOCK_GIVE_UP_AFTER: '1m' };
  const env = { ...environmentFor(set), ...graced };
  const first = await run(['new', '--', 'echo', 'ran'], { env });
  expect(first).toMatchObject({ code: 0, stdout: 'ran\n' });
  expect(first.elapsedMs).toBeGreaterThan(2_900);
  expect(await run(['-n', 'new', '--', 'true'], { env })).toMatchObject({ code: 0, stderr: '' });
});
