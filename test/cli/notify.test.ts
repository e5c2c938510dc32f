// --notify runs its command at each event, with the facts that --report has, and nothing waits for
// it: neither the command nor the exit of redlock-run. --max-waiters and --hold-on success, which
// hooks often go with.

import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../servers/watchdog.ts';
import { countOf, giveWayTo, linesOf, obedient, takeBy, useMasters } from './rig.ts';

const { masters, run, start } = useMasters(3);

const newFile = () => join(mkdtempSync(join(scratchFolder(), 'notify-')), 'told');

/** Writes a line for each notice. */
const noting = (file: string) =>
  `echo "$REDLOCK_EVENT|$REDLOCK_NAME|$REDLOCK_HOLDER" >> ${file}; echo said; echo said >&2`;

function toldIn(file: string): string[] {
  try {
    return linesOf(readFileSync(file, 'utf8'));
  } catch {
    return [];
  }
}

test('waiting, acquired, released: with the holder, and without output of its own', async () => {
  const file = newFile();
  await takeBy('theirs', masters, 'a');
  const waiter = start(['--notify', noting(file), '--label', 'job', 'a', '--', 'echo', 'out']);
  await giveWayTo(waiter, masters, 'a');
  expect(await waiter.result).toMatchObject({
    code: 0,
    stdout: 'out\n',
    stderr: expect.stringMatching(/^redlock-run: waiting \d+s .*\n$/),
  });
  await expect.poll(() => toldIn(file).length).toBe(3);
  const told = toldIn(file).sort();
  expect(told[0]).toMatch(/^acquired\|a\|.+@\S+, pid \d+, job$/);
  expect(told[1]).toMatch(/^released\|a\|.+@\S+, pid \d+, job$/);
  expect(told[2]).toBe('waiting|a|another program (value theirs)');
});

test('busy: with the holder', async () => {
  const file = newFile();
  await takeBy('theirs', masters, 'a');
  expect(await run(['-n', '--notify', noting(file), 'a', '--', 'true'])).toMatchObject({
    code: 75,
  });
  await expect.poll(() => toldIn(file)).toEqual(['busy|a|another program (value theirs)']);
});

const variables = ['EVENT', 'OUTCOME', 'STATUS', 'SIGNAL', 'WAIT_MS', 'RUN_MS', 'LOST', 'BY'];

/** Writes a line with these variables for each notice. */
const facts = (file: string) =>
  `echo "${variables.map((name) => `$REDLOCK_${name}`).join('|')}" >> ${file}`;

const factsIn = (file: string) => toldIn(file).map((line) => line.split('|'));

test.each([
  ['success', [], 'exit 0', ['ran', '0', '']],
  ['a failure', [], 'exit 3', ['ran', '3', '']],
  ['a command that died', [], 'kill -KILL $$', ['ran', '137', 'SIGKILL']],
  ['--max-run', ['--max-run', '100ms'], 'exec sleep 60', ['max-run', '124', 'SIGTERM']],
])('the facts of %s, as in --report', async (_title, flags, script, end) => {
  const file = newFile();
  const report = newFile();
  const hooks = ['--notify', facts(file), '--report', report];
  await run([...flags, ...hooks, 'a', '--', 'sh', '-c', script]);
  await expect.poll(() => factsIn(file).length).toBe(2);
  const [acquired = [], released = []] = factsIn(file).sort();
  expect(acquired).toEqual(['acquired', '', '', '', expect.stringMatching(/^\d+$/), '', '', '']);
  expect(released.slice(0, 4)).toEqual(['released', ...end]);
  const { outcome, status, signal, waitMs, runMs, lossReason, stoppedBy } = JSON.parse(
    readFileSync(report, 'utf8'),
  );
  const reported = [
    outcome,
    status,
    signal ?? '',
    waitMs,
    runMs,
    lossReason ?? '',
    stoppedBy ?? '',
  ];
  expect(released.slice(1)).toEqual(reported.map(String));
});

test('the facts of a run that was refused: its status is that of -E', async () => {
  const file = newFile();
  await takeBy('theirs', masters, 'a');
  await run(['-n', '-E', '3', '--notify', facts(file), 'a', '--', 'true']);
  const waited = expect.stringMatching(/^\d+$/);
  await expect.poll(() => factsIn(file)).toEqual([['busy', 'busy', '3', '', waited, '', '', '']]);
});

test('the variables of the lock, which is no enclosing one after the release', async () => {
  const file = newFile();
  const note = `echo "$REDLOCK_EVENT $REDLOCK_FENCE $REDLOCK_TTL_MS <$REDLOCK_HELD>" >> ${file}`;
  const { stdout } = await run(['--notify', note, 'a', '--', 'printenv', 'REDLOCK_FENCE']);
  const fence = stdout.trim();
  await expect
    .poll(() => toldIn(file).sort())
    .toEqual([`acquired ${fence} 30000 <a>`, `released ${fence} 30000 <>`]);
});

test('lost', async () => {
  const file = newFile();
  const job = start(['--ttl', '3s', '--notify', noting(file), 'a', '--', ...obedient()]);
  await job.says('stdout', /ready/);
  await takeBy('theirs', masters, 'a');
  expect(await job.result).toMatchObject({ code: 79 });
  await expect.poll(() => toldIn(file).map((line) => line.split('|')[0])).toContain('lost');
});

test.each([
  ['fails', 'exit 3'],
  ['cannot be run', 'no-such-program'],
  ['kills its group', 'kill -KILL 0'],
])('a command that %s changes nothing', async (_, script) => {
  expect(await run(['--notify', script, 'a', '--', 'sh', '-c', 'exit 4'])).toMatchObject({
    code: 4,
    stderr: '',
  });
});

test('one that hangs is not waited for, and is ended with what it has started', async () => {
  const file = newFile();
  const hanging = `sleep 300 & echo $$ $! >> ${file}; wait`;
  const began = Date.now();
  expect(await run(['--notify', hanging, 'a', '--', 'true'])).toMatchObject({ code: 0 });
  expect(Date.now() - began).toBeLessThan(8_000);
  await expect.poll(() => toldIn(file).length).toBe(2);
  const pids = toldIn(file).flatMap((line) => line.split(' ').map(Number));
  await expect.poll(() => pids.filter(isAlive)).toEqual([]);
});

test('its output is shown with -v', async () => {
  const { stderr } = await run([
    '-v',
    '--notify',
    'echo "<$REDLOCK_EVENT>"',
    'a',
    '--',
    'sleep',
    '1',
  ]);
  expect(stderr).toContain('<acquired>');
});

test('--max-waiters: a run that finds so many in the queue leaves it and exits 75', async () => {
  await takeBy('theirs', masters, 'a');
  const first = start(['-v', '--max-waiters', '1', 'a', '--', 'true']);
  await first.says('stderr', /1st in the queue/);
  const { code, stderr } = await run(['--max-waiters', '1', 'a', '--', 'true']);
  expect({ code, stderr }).toEqual({
    code: 75,
    stderr: expect.stringMatching(
      /^redlock-run: busy: "a": 1 waiting already; held by another program \(value theirs\)/,
    ),
  });
  for (const master of masters) expect(await master.command('zcard', '{redlock:a}:queue')).toBe(1);
  for (const master of masters) await master.command('del', 'redlock:a');
  expect(await first.result).toMatchObject({ code: 0 });
});

test.each([
  ['success', 'exit 0', 3],
  ['success', 'exit 3', 0],
  ['success', 'kill -TERM $$', 0],
  ['always', 'exit 3', 3],
])('--hold-on %s: after `%s` %i masters keep the lock', async (holdOn, script, count) => {
  const args = ['--hold-at-least', '1m', '--hold-on', holdOn, 'a', '--', 'sh', '-c', script];
  await run(args);
  expect(await countOf(masters, 'a')).toBe(count);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
