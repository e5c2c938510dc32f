// Nested runs with --reentrant under the lock of the enclosing run, and the loss of that lock.
// Without --reentrant the same name fails at once: arguments.test.ts.

import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ctl } from '../ctl/rig.ts';
import { eventually, isAlive } from '../servers/processes.ts';
import { shellLine } from '../servers/shell.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import {
  type CliRun,
  interpreter,
  linesOf,
  node,
  obedient,
  program,
  takeBy,
  untilNothingIsLeft,
  useMasters,
} from './rig.ts';

const { masters, run, start } = useMasters(3);

const inside = (...args: string[]) => [interpreter, program, '--reentrant', ...args];
const environmentIn = (text: string) => JSON.parse(text) as Record<string, string>;
const printed = node('print-env.js');

/** A nested run with a process that only SIGKILL ends, and the pid of that process. */
async function deepJob(name: string, ...flags: string[]): Promise<{ job: CliRun; pid: number }> {
  const job = start([...flags, name, '--', ...inside(name, '--', ...node('immortal.js'))]);
  const [, pid] = await job.says('stdout', /ready (\d+)/);
  return { job, pid: Number(pid) };
}

test('runs under the enclosing lock: name, token, fence, ttl, no history', async () => {
  const script = `${shellLine(...printed)}; ${shellLine(...inside('same', '--', ...printed))}`;
  const { code, stdout, stderr } = await run(['--ttl', '10s', 'same', '-c', script]);
  const [around, within] = stdout.split(/(?<=})\s*(?={)/).map(environmentIn);
  expect([code, stderr]).toEqual([0, '']);
  for (const name of ['NAME', 'TOKEN', 'FENCE', 'TTL_MS', 'HELD', 'HELD_LEASES']) {
    expect(within?.[`REDLOCK_${name}`]).toBe(around?.[`REDLOCK_${name}`]);
  }
  expect(within).toMatchObject({
    REDLOCK_FENCE: expect.stringMatching(/^\d{16}$/),
    REDLOCK_TTL_MS: '10000',
  });
  await untilNothingIsLeft(masters);
  expect(JSON.parse((await ctl(masters, ['history', 'same', '--json'])).stdout).runs).toHaveLength(
    1,
  );
});

test('its end releases nothing: the enclosing run goes on and holds the lock', async () => {
  const taken = shellLine(interpreter, program, '-n', 'same', '--', 'true');
  const nested = shellLine(...inside('same', '--', 'true'));
  const script = `${nested}; env -u REDLOCK_HELD ${taken}; echo $?`;
  const { code, stdout } = await run(['same', '-c', script]);
  expect([code, stdout]).toEqual([0, '75\n']);
});

test('reaches past an inner lock of another name to the one that it names', async () => {
  const innermost = inside('outer', '--', ...printed);
  const { stdout } = await run([
    '--ttl',
    '9s',
    'outer',
    '--',
    interpreter,
    program,
    'inner',
    '--',
    ...innermost,
  ]);
  const ours = { REDLOCK_NAME: 'outer', REDLOCK_HELD: 'inner,outer', REDLOCK_TTL_MS: '9000' };
  expect(environmentIn(stdout)).toMatchObject(ours);
});

test.each([
  ['shared', ['--shared', 'both'], ['both']],
  ['slots', ['--slots', '2', 'both'], ['both']],
  ['one of several names', ['one', 'two'], ['two']],
  ['all of several names', ['one', 'two'], ['two', 'one']],
])('under a lock of another form: %s', async (_, enclosing, names) => {
  const { code, stdout, stderr } = await run([
    ...enclosing,
    '--',
    ...inside(...names, '--', ...printed),
  ]);
  expect([code, stderr]).toEqual([0, '']);
  expect(environmentIn(stdout).REDLOCK_NAME).toBe(names[0]);
});

test('some of several names are not held by an enclosing run: 75', async () => {
  const { code, stderr } = await run(['one', '--', ...inside('one', 'two', '--', 'echo', 'never')]);
  expect([code, stderr]).toEqual([75, expect.stringContaining('held by an enclosing run')]);
});

test('outside of any run it is a run like any other', async () => {
  const { code, stdout } = await run(['--reentrant', 'alone', '--', ...printed]);
  expect([code, environmentIn(stdout).REDLOCK_HELD]).toEqual([0, 'alone']);
  await takeBy('them', masters, 'alone');
  expect((await run(['--reentrant', '-n', 'alone', '--', 'true'])).code).toBe(75);
});

test.each([
  ['exit code', 7, ['same', '--', 'sh', '-c', 'exit 7']],
  ['signal', 137, ['same', '-c', 'kill -9 $$']],
  ['--max-run', 124, ['--max-run', '300ms', 'same', '--', 'sleep', '60']],
  ['missing command', 127, ['same', '--', 'there-is-no-such-program']],
])('the %s is that of the nested run', async (_, code, args) => {
  expect((await run(['same', '--', ...inside(...args)])).code).toBe(code);
});

test('a signal to the nested run ends it and its command, and not the enclosing run', async () => {
  const nested = shellLine(...inside('same', '--', ...obedient()));
  const trap = "trap 'kill -TERM $pid' USR1";
  const script = `${nested} & pid=$!; ${trap}; wait; wait $pid; echo "ended with $?"`;
  const job = start(['same', '-c', script]);
  await job.says('stdout', /ready/);
  job.signal('SIGUSR1');
  const { code, stdout } = await job.result;
  expect([code, stdout]).toMatchObject([
    0,
    expect.stringMatching(/stopped by SIGTERM\n(.*\n)*ended with 143\n$/),
  ]);
});

test('--report describes the nested run', async () => {
  const report = join(mkdtempSync(join(scratchFolder(), 'nested-')), 'report.json');
  await run(['same', '--', ...inside('--report', report, 'same', '-c', 'exit 3')]);
  const facts = { outcome: 'ran', exitCode: 3, status: 3, position: null, masters: { failed: [] } };
  expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject(facts);
});

test('goes on for many extensions of the enclosing run, also when a minority fails', async () => {
  const sleep = inside('-v', 'long', '--', 'sleep', '7');
  const job = start(['--ttl', '4s', '-k', '200ms', 'long', '--', ...sleep]);
  await job.says('stderr', /started/);
  await masters[1]?.kill();
  const { code, stderr } = await job.result;
  await masters[1]?.restart();
  expect([code, stderr.match(/extended: /g)?.length ?? 0]).toEqual([
    0,
    expect.toSatisfy((count) => count >= 4),
  ]);
});

test('the enclosing lock is lost: both end with 79, and no process is left', async () => {
  const { job, pid } = await deepJob('lost', '--ttl', '6s');
  await takeBy('them', masters, 'lost');
  const { code, stderr } = await job.result;
  expect([code, isAlive(pid)]).toEqual([79, false]);
  expect(stderr).toMatch(/lost: "lost": taken/);
  for (const master of masters) expect(await master.get('redlock:lost')).toBe('them');
});

test('the enclosing run is killed: the command ends before the lock is free', async () => {
  const { job, pid } = await deepJob('killed', '--ttl', '3s');
  job.signal('SIGKILL');
  await eventually('dead', () => !isAlive(pid), 3_000);
  expect(await masters[0]?.get('redlock:killed')).not.toBeNull();
  await job.result;
  await eventually(
    'expired',
    async () => (await masters[0]?.get('redlock:killed')) === null,
    5_000,
  );
});

test('the nested run is killed: its command ends, and the enclosing run goes on', async () => {
  const nested = shellLine(...inside('same', '--', ...node('immortal.js')));
  const script = `${nested} & echo "inner $!"; wait; echo "goes on"; sleep 0.5`;
  const job = start(['--ttl', '3s', '-k', '200ms', 'same', '-c', script]);
  const [, pid] = await job.says('stdout', /ready (\d+)/);
  const [, inner] = await job.says('stdout', /inner (\d+)/);
  process.kill(Number(inner), 'SIGKILL');
  await eventually('dead', () => !isAlive(Number(pid)), 3_000);
  expect((await job.result).code).toBe(0);
});

test('an environment that outlived its run: 79, and the lock is not acquired instead', async () => {
  const { stdout } = await run(['gone', '--', ...printed]);
  const { REDLOCK_HELD, REDLOCK_HELD_LEASES } = environmentIn(stdout);
  const env = { REDLOCK_HELD, REDLOCK_HELD_LEASES };
  const { code, stderr, ...late } = await run(['--reentrant', 'gone', '--', 'echo', 'never'], {
    env,
  });
  expect([code, late.stdout]).toEqual([79, '']);
  expect(linesOf(stderr)).toEqual([
    expect.stringMatching(/^redlock-run: lost: "gone": .*was not started$/),
  ]);
  const untold = await run(['--reentrant', 'gone', '--', 'true'], {
    env: { REDLOCK_HELD: 'gone' },
  });
  expect(untold.code).toBe(79);
});

test('outlives the enclosing run in the background: it ends soon, and with 79', async () => {
  const nested = shellLine(...inside('kept', '--', ...node('immortal.js')));
  const script = `(${nested}; echo "ended with $?") & read -r line`;
  const args = ['--keep-background', '--ttl', '3s', '-k', '200ms', 'kept', '-c', script];
  const job = start(args, { stdin: 'pipe' });
  const [, pid] = await job.says('stdout', /ready (\d+)/);
  job.child.stdin?.end('\n');
  await eventually('dead', () => !isAlive(Number(pid)), 3_000);
  await job.says('stdout', /ended with 79/);
  expect((await job.result).code).toBe(0);
});

test.each([
  ['the enclosing run', ['--isolate', 'same', '--']],
  ['a run between both', ['same', '--', interpreter, program, '--isolate', 'other', '--']],
])('in a PID namespace of its own, made by %s', async (_, enclosing) => {
  const { code, stdout, stderr } = await run([...enclosing, ...inside('same', '--', ...printed)]);
  expect([code, stderr]).toEqual([0, '']);
  expect(environmentIn(stdout).REDLOCK_NAME).toBe('same');
});

test('asks no master: it runs while too few answer', async () => {
  const nested = shellLine(...inside('-n', 'mute', '--', 'echo', 'served'));
  const script = `echo ready; read -r line; ${nested}; echo $?`;
  const job = start(['--ttl', '20s', 'mute', '-c', script], { stdin: 'pipe' });
  await job.says('stdout', /ready/);
  for (const master of masters.slice(1)) await master.kill();
  job.child.stdin?.end('\n');
  const { stdout } = await job.result;
  for (const master of masters.slice(1)) await master.restart();
  expect(stdout).toBe('ready\nserved\n0\n');
});

test('names that an earlier run has left behind in a daemon do not turn waiting off', async () => {
  const holder = start(['stale', '--', 'sh', '-c', 'echo ready; read -r line'], { stdin: 'pipe' });
  await holder.says('stdout', /ready/);
  const env = { REDLOCK_HELD: 'stale', REDLOCK_HELD_LEASES: 'AAAAAAAAAAAAAAAAAAAAAAAAAAA:1:30000' };
  const waiter = start(['-w', '60s', 'stale', '--', 'echo', 'served'], { env });
  await waiter.says('stderr', /waiting/);
  holder.child.stdin?.end('\n');
  expect(await waiter.result).toMatchObject({ code: 0, stdout: 'served\n' });
  expect((await holder.result).code).toBe(0);
});
