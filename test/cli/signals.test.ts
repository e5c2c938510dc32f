// Signals to redlock-run, as kill(1), a service manager or a shell send them. A waiting run ends at
// once and leaves no key; a running command gets the signal, and its exit code counts.

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { generous } from '../servers/patience.ts';
import { procText } from '../servers/proc.ts';
import { eventually, isAlive } from '../servers/processes.ts';
import {
  environmentFor,
  interpreter,
  isStandalone,
  node,
  obedient,
  program,
  type TestMaster,
  takeBy,
  untilNothingIsLeft,
  useMasters,
} from './rig.ts';

// On TCP, where a slow server reads also the release of a client that has ended.
const { masters, start } = useMasters(3, { transport: 'tcp' });

test.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const)(
  '%s while waiting ends it at once, and no key is left',
  async (signal) => {
    // The third master grants each attempt, which then needs a rollback.
    await takeBy('them', masters.slice(0, 2), 'held');
    const job = start(['-v', 'held', '--', 'echo', 'never']);
    await job.says('stderr', /waiting \ds for "held"/);
    const signalledAt = performance.now();
    job.signal(signal);
    const { code, signal: diedOf, stdout } = await job.result;
    expect(performance.now() - signalledAt).toBeLessThan(generous(5_000));
    expect(diedOf ?? code).toBe(signal === 'SIGQUIT' ? 131 : signal);
    expect(stdout).toBe('');
    await untilNothingIsLeft(masters.slice(2));
    for (const master of masters) await master.command('del', 'redlock:held');
    await untilNothingIsLeft(masters);
  },
);

test('SIGTERM during an attempt ends it at once, and no master keeps a key', async () => {
  const [granting, ...frozen] = masters as [TestMaster, ...TestMaster[]];
  for (const master of frozen) await master.freeze();
  const job = start(['--ttl', '60s', 'attempt', '--', 'echo', 'never']);
  await eventually('granted by one', () => granting.get('redlock:attempt'));
  const signalledAt = performance.now();
  job.signal('SIGTERM');
  expect(await job.result).toMatchObject({ signal: 'SIGTERM', stdout: '' });
  expect(performance.now() - signalledAt).toBeLessThan(generous(3_000));
  await untilNothingIsLeft([granting]);
  for (const master of frozen) master.thaw();
  await untilNothingIsLeft(frozen);
});

test('SIGTERM at any moment of the start ends it, and no key and no process is left', async () => {
  const moments = Array.from({ length: 6 }, (_, index) => index * 100);
  const ends = moments.map(async (afterMs, index) => {
    const job = start([`early${index}`, '--', 'sleep', '60']);
    await sleep(afterMs); // Not a wait for anything: the moment is the datum.
    job.signal('SIGTERM');
    return (await job.result).signal;
  });
  expect(await Promise.all(ends)).toEqual(moments.map(() => 'SIGTERM'));
  await untilNothingIsLeft(masters);
});

// Bun, in the executable, takes PWR for itself and does not know STKFLT.
const others = ['ALRM', 'VTALRM', 'PROF', 'XCPU', 'IO', ...(isStandalone ? [] : ['PWR', 'STKFLT'])];
const numberOf = (name: string) => constants.signals[`SIG${name}` as NodeJS.Signals] ?? 0;

// What it does at each is one row of a table (unit/run/supervisor), if it handles it at all.
test.each(['ALRM', 'PROF'])('SIG%s, as others, ends a run as TERM does', async (name) => {
  const signal = `SIG${name}` as NodeJS.Signals;
  const script = 'trap "echo told; exit" TERM; echo ready; while :; do sleep 0.1; done';
  const job = start(['--ttl', '1h', `by-${name}`, '-c', script]);
  await job.says('stdout', /ready/);
  const [, handled] = /^SigCgt:\s*(\w+)$/m.exec(procText(job.pid, 'status')) ?? [];
  const isHandled = (other: string) =>
    handled === undefined || // Not on Linux.
    (BigInt(`0x${handled}`) >> BigInt(numberOf(other) - 1)) & 1n;
  expect(others.filter((other) => !isHandled(other))).toEqual([]);
  job.signal(signal);
  const { code, stdout } = await job.result;
  expect([code, stdout]).toEqual([128 + numberOf(name), 'ready\ntold\n']);
  await untilNothingIsLeft(masters);
});

test('HUP, USR1, USR2, WINCH, CONT and QUIT reach the command once', async () => {
  const job = start(['relayed', '--', ...node('tell-signals.js')]);
  await job.says('stdout', /ready/);
  for (const signal of [
    'SIGHUP',
    'SIGUSR1',
    'SIGUSR2',
    'SIGWINCH',
    'SIGCONT',
    'SIGQUIT',
  ] as const) {
    job.signal(signal);
    await job.says('stdout', new RegExp(signal));
  }
  const { code, stdout, stderr } = await job.result;
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toBe('ready\nSIGHUP\nSIGUSR1\nSIGUSR2\nSIGWINCH\nSIGCONT\nSIGQUIT\n');
});

test('HUP that ends a run is named on stderr, with what outlives a logout', async () => {
  const job = start(['hung-up', '--', 'sh', '-c', 'echo ready; exec sleep 60']);
  await job.says('stdout', /ready/);
  job.signal('SIGHUP');
  const { signal, stderr } = await job.result;
  expect([signal, stderr]).toEqual([
    'SIGHUP',
    expect.stringMatching(/^redlock-run: hangup: "hung-up": SIGHUP ended .* nohup .*\n$/),
  ]);
});

test('HUP ends a run in the same way where stderr is gone', async () => {
  const job = start(['hung-up', '--', 'sh', '-c', 'echo ready; exec sleep 60']);
  await job.says('stdout', /ready/);
  job.child.stderr?.destroy();
  job.signal('SIGHUP');
  expect(await job.result).toMatchObject({ signal: 'SIGHUP' });
  await untilNothingIsLeft(masters);
});

test('a command under nohup goes on after HUP, and keeps its exit code', async () => {
  const command = ['nohup', 'sh', '-c', 'echo ready; read -r _; exit 3'];
  const job = start(['hung-up', '--', ...command], { stdin: 'pipe' });
  await job.says('stdout', /ready/);
  job.signal('SIGHUP');
  job.child.stdin?.end('\n');
  expect(await job.result).toMatchObject({ code: 3, stderr: '' });
});

test.each([
  ['SIGTERM', 'SIGTERM'],
  ['SIGINT', 'SIGINT'],
] as const)(
  '%s stops the command by the same signal, waits for it, releases, and dies of it',
  async (signal, stoppedBy) => {
    const job = start(['stopped', '--', ...obedient(7)]);
    await job.says('stdout', /ready/);
    job.signal(signal);
    const { code, signal: diedOf, stdout, stderr } = await job.result;
    expect([code, diedOf, stderr]).toEqual([null, signal, '']);
    expect(stdout).toMatch(new RegExp(`stopped by ${stoppedBy}\\n$`));
    await untilNothingIsLeft(masters);
  },
);

test('a shell sees 128 + n, and its loop stops', async () => {
  const env = { PATH: process.env.PATH, ...environmentFor(masters) };
  const script =
    'for i in 1 2 3; do echo "try $i"; ' +
    '"$0" "$1" loop -- sh -c "echo ready; exec sleep 10"; done; echo went on';
  const shell = spawn('bash', ['-c', script, interpreter, program], {
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  shell.stdout.setEncoding('utf8').on('data', (text) => {
    said += text;
  });
  const ended = new Promise((resolve) =>
    shell.once('exit', (code, signal) => resolve(signal ?? code)),
  );
  await eventually('ready', () => said.includes('ready'));
  process.kill(-(shell.pid as number), 'SIGINT'); // As Ctrl-C does.
  expect(await ended).toBe('SIGINT');
  expect(said).toBe('try 1\nready\n');
  await untilNothingIsLeft(masters);
});

test('a command that ignores SIGTERM is killed after -k, then released', async () => {
  const job = start(['-k', '600ms', 'stubborn', '--', ...node('immortal.js')]);
  const [, pid] = await job.says('stdout', /ready (\d+)/);
  const signalledAt = performance.now();
  job.signal('SIGTERM');
  await job.says('stdout', /SIGTERM/);
  expect(await masters[0]?.get('redlock:stubborn')).toBeTruthy();
  const { signal } = await job.result;
  const elapsedMs = performance.now() - signalledAt;
  expect(signal).toBe('SIGTERM');
  expect(elapsedMs).toBeGreaterThan(590);
  expect(elapsedMs).toBeLessThan(4_900); // The default of -k is five seconds.
  expect(isAlive(Number(pid))).toBe(false);
  await untilNothingIsLeft(masters);
});

test.each(['SIGTERM', 'SIGINT'] as const)('a second %s kills at once', async (signal) => {
  const job = start(['-k', '90s', '--ttl', '300s', 'impatient', '--', ...node('immortal.js')]);
  await job.says('stdout', /ready/);
  job.signal('SIGTERM');
  await job.says('stdout', /SIGTERM/);
  const signalledAt = performance.now();
  job.signal(signal);
  expect(await job.result).toMatchObject({ signal: 'SIGTERM' });
  expect(performance.now() - signalledAt).toBeLessThan(generous(2_000));
  await untilNothingIsLeft(masters);
});

test('--signal is the signal that redlock-run stops the command with', async () => {
  const args = ['--ttl', '6s', '--signal', 'INT', 'own', '--', ...obedient()];
  const job = start(args);
  await job.says('stdout', /ready/);
  // Not --max-run: its time may be over before the command can handle a signal.
  for (const master of masters) await master.command('set', 'redlock:own', 'theirs');
  expect(await job.result).toMatchObject({
    code: 79,
    stdout: expect.stringMatching(/stopped by SIGINT\n$/),
  });
  for (const master of masters) await master.command('del', 'redlock:own');
});

test('the processes that the command has started end with it', async () => {
  const job = start(['family', '--', 'sh', '-c', 'sleep 300 & sleep 300 & echo ready; wait']);
  await job.says('stdout', /ready/);
  job.signal('SIGTERM');
  expect(await job.result).toMatchObject({ signal: 'SIGTERM' });
  expect(job.survivors()).toEqual([]);
  await untilNothingIsLeft(masters);
});
