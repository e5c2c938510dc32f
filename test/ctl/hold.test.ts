// A lock that redlockctl holds, in the background or not: for how long, for which process, and what
// is left of it. The ttls are short, so that a lock that is not extended expires within the test.

import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import {
  countOf,
  environmentFor,
  interpreter,
  isOnEach,
  locksOn,
  takeBy,
  untilNothingIsLeft,
  useMasters,
} from '../cli/rig.ts';
import { generous } from '../servers/patience.ts';
import { eventually, isAlive } from '../servers/processes.ts';
import { pathOf } from '../servers/run-cli.ts';
import { shellLine } from '../servers/shell.ts';
import { MARK } from '../servers/survivors.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { ctl, forStranger, startCtl } from './rig.ts';

const { masters, run, start } = useMasters(3);
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface LockHandle {
  readonly token: string;
  readonly pid: number;
  readonly fence: number;
  readonly ttlMs: number;
  readonly validMs: number;
}

async function held(name: string, ...flags: string[]): Promise<LockHandle> {
  const { code, stdout, stderr } = await ctl(masters, [
    'hold',
    name,
    '--background',
    '--json',
    ...flags,
  ]);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as LockHandle;
}

const release = (name: string, { token }: LockHandle) =>
  ctl(masters, ['release', name, '--token', token]);
const gone = ({ pid }: LockHandle) =>
  eventually('the holder has ended', () => !isAlive(pid), 3_000);
const historyOf = async (name: string) =>
  JSON.parse((await ctl(masters, ['history', name, '--json'])).stdout).runs;

test('prints the token and ends; a daemon extends the lock until it is released', async () => {
  const handle = await held('job', '--ttl', '4s', ...forStranger());
  expect(handle).toMatchObject({
    ttlMs: 4_000,
    fence: expect.any(Number),
    validMs: expect.toSatisfy((ms) => ms > 0),
  });
  for (let round = 0; round < 12; round += 1) {
    await sleep(400);
    await isOnEach(masters, 'job');
  }
  expect((await run(['-n', 'job', '--', 'true'])).stderr).toContain(
    `@${os.hostname()}, pid ${handle.pid}, redlockctl hold`,
  );
  expect((await ctl(masters, ['check', 'job', '--token', handle.token])).code).toBe(0);
  expect((await release('job', handle)).code).toBe(0);
  await gone(handle);
  await untilNothingIsLeft(masters);
  expect((await historyOf('job')).slice(0, 1)).toMatchObject([
    { token: handle.token, outcome: 'ran', status: 0 },
  ]);
});

test('a ttl that leaves no time for an extension is refused, wherever it was set', async () => {
  for (const flags of [[], ['--background']]) {
    const words = ['hold', 'job', ...flags];
    const from = (what: string) => expect.stringMatching(`^redlockctl: ${what}: ttl 100ms, `);
    const option = { code: 64, stderr: from('--ttl') };
    expect(await ctl(masters, [...words, '--ttl', '100ms'])).toMatchObject(option);
    const env = { ...environmentFor(masters), REDLOCK_TTL: '100ms' };
    const variable = { code: 78, stderr: from('REDLOCK_TTL') };
    expect(await ctl(masters, words, { env })).toMatchObject(variable);
  }
  expect(await countOf(masters, 'job')).toBe(0);
});

test('a role that redlockctl does not write starts no daemon', async () => {
  const env = { REDLOCK_RUN_HOLDER: '7:NaN' };
  const { code, stdout, stderr } = await ctl(masters, ['hold', 'x', '--background'], { env });
  expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
  expect(stderr).toMatch(/^redlockctl: REDLOCK_RUN_HOLDER: "7:NaN": .*\(unset it\)\n$/);
});

test('shared: beside other shared holders, and no run alone; -E is the exit code', async () => {
  const [one, two] = [await held('files', '-s'), await held('files', '--shared')];
  expect((await run(['-n', '-s', 'files', '--', 'true'])).code).toBe(0);
  expect((await run(['-n', 'files', '--', 'true'])).code).toBe(75);
  expect((await ctl(masters, ['check', 'files', '--token', one.token])).code).toBe(0);
  for (const verb of ['hold', 'acquire'])
    expect(await ctl(masters, [verb, 'files', '-n', '-E', '9'])).toMatchObject({ code: 9 });
  for (const handle of [one, two]) expect((await release('files', handle)).code).toBe(0);
  expect((await run(['-n', 'files', '--', 'true'])).code).toBe(0);
  const gone = await held('files', ...forStranger());
  const later = ctl(masters, ['acquire', 'files', '-s']);
  await release('files', gone);
  expect((await later).code).toBe(0);
});

test('released while a run waits: handed over, and not lost in the history', async () => {
  const handle = await held('queue', '--ttl', '5s', ...forStranger());
  const waiting = startCtl(masters, ['acquire', 'queue', '-w', '10s', '--ttl', '1m']);
  await eventually(
    'in the wait queue',
    async () => (await masters[0]?.command('zcard', '{redlock:queue}:queue')) === 1,
  );
  await release('queue', handle);
  const { code, stdout } = await waiting.result;
  expect(code).toBe(0);
  await gone(handle);
  await eventually('told', async () => (await historyOf('queue')).length > 1);
  const [first] = (await historyOf('queue')).filter(
    ({ token }: LockHandle) => token === handle.token,
  );
  expect(first).toMatchObject({ outcome: 'ran' });
  // One that was asked before the release had reached it has refused.
  const values = await Promise.all(masters.map((master) => master.get('redlock:queue')));
  const isTheirs = (value: string | null) => value?.includes(stdout.trim());
  expect(values.filter(isTheirs).length).toBeGreaterThanOrEqual(2);
  expect(values.every((value) => value === null || isTheirs(value))).toBe(true);
});

test('the daemon has nothing of its caller open, and a session of its own', async () => {
  const program = shellLine(interpreter, pathOf('redlockctl'));
  const hold = `${program} hold quiet --background --while-pid ${process.pid}`;
  const script = `exec 9>&1; token=$(${hold}); echo "$token"`;
  const env = { ...process.env, ...environmentFor(masters) };
  // Ends when no process has its pipes open any more.
  const { stdout } = await promisify(execFile)('sh', ['-c', script], {
    env,
    timeout: generous(10_000),
  });
  const shown = await eventually('on the first master as well', () =>
    masters[0]?.get('redlock:quiet'),
  );
  const value = JSON.parse(shown.replace(/^\S+ /, ''));
  expect(isAlive(value.pid)).toBe(true);
  if (existsSync('/proc/self/fd')) {
    await eventually('its folder left', () => readlinkSync(`/proc/${value.pid}/cwd`) === '/');
    // For a moment it may have a file open that it reads, such as the time since the boot.
    await eventually('nothing of its caller open', () => {
      const files = readdirSync(`/proc/${value.pid}/fd`).map((fd) =>
        readlinkSync(`/proc/${value.pid}/fd/${fd}`),
      );
      return !files.some((file) => file.startsWith('/') && !file.startsWith('/dev/'));
    });
    const [, session] =
      /\) \S \d+ \d+ (\d+)/.exec(readFileSync(`/proc/${value.pid}/stat`, 'utf8')) ?? [];
    expect(Number(session)).toBe(value.pid);
  }
  expect((await ctl(masters, ['release', 'quiet', '--token', stdout.trim()])).code).toBe(0);
  await eventually('ended', () => !isAlive(value.pid));
});

test('stops waiting when the process that it is for has ended', async () => {
  await takeBy('them', masters, 'awaited');
  const shell = spawn('sleep', ['60'], { stdio: 'ignore' });
  const owner = ['--while-pid', String(shell.pid)];
  const args = ['hold', 'awaited', '--background', ...owner, '-w', '50s', '-E', '9'];
  const waiting = startCtl(masters, args);
  await eventually(
    'in the wait queue',
    async () => (await masters[0]?.command('zcard', '{redlock:awaited}:queue')) === 1,
  );
  await waiting.says('stderr', /waiting \d+s \(of 50s\) for "awaited": .*held by /);
  shell.kill('SIGKILL');
  const { code, stderr } = await waiting.result;
  expect([code, stderr]).toEqual([
    9,
    expect.stringMatching(/^redlockctl: waiting .*\n.*: aborted: "awaited": .* has ended\n$/),
  ]);
  for (const master of masters)
    expect((await master.keys()).filter((key) => /:queue|:waiters/.test(key))).toEqual([]);
});

/** A shell that holds in the background and runs until it is killed, and what it prints. */
async function shellThatHolds(script: string) {
  const env = { ...process.env, ...environmentFor(masters), [MARK]: 'hold' };
  const shell = spawn('sh', ['-c', `${script}; read -r line`], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let said = '';
  shell.stdout.on('data', (data) => {
    said += data;
  });
  await eventually('a token', () => said.includes('\n'), 10_000);
  return shell;
}

const args = (name: string) =>
  `${shellLine(interpreter, pathOf('redlockctl'))} hold ${name} --background --ttl 2s`;

test.each([
  ['called by the shell itself', (name: string) => args(name)],
  [
    'called in a copy of the shell',
    (name: string) => `token=$(${args(name)} | cat; exit 0); echo "$token"`,
  ],
  ['named by --while-pid', (name: string) => `(sh -c "${args(name)} --while-pid $$; true")`],
])('ends by itself when the process that asked for it is gone: %s', async (_, script) => {
  const shell = await shellThatHolds(script('asker'));
  await sleep(1_500);
  await isOnEach(masters, 'asker');
  const [, pid] = /"pid":(\d+)/.exec((await masters[0]?.get('redlock:asker')) ?? '') ?? [];
  shell.kill('SIGKILL');
  await eventually('released', async () => (await countOf(masters, 'asker')) === 0, 1_500);
  await eventually('ended', () => !isAlive(Number(pid)));
  expect(await historyOf('asker')).toMatchObject([{ outcome: 'unwanted', status: 0 }]);
});

test('a pid without a process: refused before the lock is acquired', async () => {
  for (const pid of ['0', 'x', '999999999']) {
    const { code, stderr } = await ctl(masters, [
      'hold',
      'never',
      '--background',
      '--while-pid',
      pid,
    ]);
    expect([code, stderr]).toEqual([
      64,
      expect.stringMatching(/^redlockctl: --while-pid: "\w+": no such process/),
    ]);
  }
  for (const master of masters) expect(await locksOn(master)).toEqual([]);
});

test('lost: check says 79, the daemon ends, foreign keys stay, history tells', async () => {
  const handle = await held('lost', '--ttl', '1s');
  await takeBy('them', masters, 'lost');
  expect((await ctl(masters, ['check', 'lost', '--token', handle.token])).code).toBe(79);
  await gone(handle);
  for (const master of masters) expect(await master.get('redlock:lost')).toBe('them');
  expect(
    (await historyOf('lost')).filter(({ token }: LockHandle) => token === handle.token),
  ).toMatchObject([{ outcome: 'lost', status: 79 }]);
});

test('the failure of one of three does not end it; TERM makes it release the lock', async () => {
  const handle = await held('term', '--ttl', '2s');
  await masters[0]?.kill();
  await sleep(2_500);
  expect((await ctl(masters, ['check', 'term', '--token', handle.token])).code).toBe(0);
  await masters[0]?.restart();
  process.kill(handle.pid, 'SIGTERM');
  await gone(handle);
  await untilNothingIsLeft(masters);
});

test('held by someone else: 75, with the message of acquire, and no process is left', async () => {
  await takeBy('them', masters, 'held');
  const [held, acquired] = await Promise.all([
    ctl(masters, ['hold', 'held', '-n', '--background']),
    ctl(masters, ['acquire', 'held', '-n']),
  ]);
  expect([held.code, held.stdout, held.stderr.replace(/\d+\.?\d*s /, '')]).toEqual([
    75,
    '',
    acquired.stderr.replace(/\d+\.?\d*s /, ''),
  ]);
});

test.each(['SIGTERM', 'SIGKILL'] as const)(
  '%s while it waits: no key, no place and no process is left',
  async (signal) => {
    await takeBy('them', masters, 'held');
    const waiting = startCtl(masters, ['hold', 'held', '--background']);
    await eventually(
      'in the wait queue',
      async () => (await masters[0]?.command('zcard', '{redlock:held}:queue')) === 1,
    );
    waiting.signal(signal);
    expect((await waiting.result).signal).toBe(signal);
    await eventually(
      'no place',
      async () => (await masters[0]?.command('zcard', '{redlock:held}:queue')) === 0,
    );
    for (const master of masters) expect(await master.get('redlock:held')).toBe('them');
  },
);

test('its output cannot be written: the lock is released', async () => {
  const folder = mkdtempSync(join(scratchFolder(), 'hold-'));
  const program = shellLine(interpreter, pathOf('redlockctl'));
  const script = `${program} hold unheard --background >/dev/full 2>/dev/null; echo $?`;
  const env = { ...process.env, ...environmentFor(masters) };
  const { stdout } = await promisify(execFile)('sh', ['-c', script], {
    env,
    cwd: folder,
    timeout: generous(10_000),
  });
  expect(stdout).toBe('74\n');
  await untilNothingIsLeft(masters);
});

test('without --background it holds until a signal, and ends by it', async () => {
  const holding = startCtl(masters, ['hold', 'fore', '--ttl', '3s']);
  await holding.says('stdout', /^[\w-]{20,}\n/);
  await sleep(3_500);
  await isOnEach(masters, 'fore');
  holding.signal('SIGINT');
  expect((await holding.result).signal).toBe('SIGINT');
  expect(await historyOf('fore')).toMatchObject([{ outcome: 'signal', status: 130 }]);
  await untilNothingIsLeft(masters);
});

test('without --background: 79 when it is lost, 0 when it is released', async () => {
  const lost = startCtl(masters, ['hold', 'fore', '--ttl', '1s']);
  await lost.says('stdout', /\n/);
  await takeBy('them', masters, 'fore');
  expect(await lost.result).toMatchObject({
    code: 79,
    stderr: expect.stringMatching(/^redlockctl: lost: "fore": /),
  });
  const released = startCtl(masters, ['hold', 'other', '--ttl', '5s', '--json']);
  await released.says('stdout', /\n/);
  await release('other', JSON.parse(released.stdout));
  expect((await released.result).code).toBe(0);
});

test('inside a run of redlock-run it ends with the other processes of that run', async () => {
  const program = shellLine(interpreter, pathOf('redlockctl'));
  const hold = `${program} hold inner --background >/dev/null`;
  const { code, stderr } = await run(['outer', '-c', hold]);
  expect([code, stderr]).toEqual([0, expect.stringMatching(/left 1 process behind/)]);
  await untilNothingIsLeft(masters);
});

test('what asks for a name that is held for its own script is refused at once', async () => {
  const [job, tool] = [pathOf('redlock-run'), pathOf('redlockctl')].map((path) =>
    shellLine(interpreter, path),
  );
  const scriptWith = async (line: string) => {
    const hold = `token=$(${tool} hold own --background)`;
    const script = `${hold}; ${line}; echo $?; ${tool} release own --token "$token"`;
    return promisify(execFile)('/bin/sh', ['-c', script], {
      env: { ...process.env, ...environmentFor(masters) },
      timeout: generous(20_000),
    });
  };
  for (const line of [
    `${job} own -- echo ran`,
    `${job} -w 1h other own -- echo ran`,
    `${tool} acquire own`,
    `${tool} hold own --background`,
    `${tool} wait own`,
  ]) {
    const { stdout, stderr } = await scriptWith(line);
    expect([line, stdout]).toEqual([line, '75\nreleased: "own"\n']);
    expect(stderr).toMatch(/^redlock\S+: busy: .*: held by redlockctl hold for pid \d+, /);
    expect(stderr).toMatch(/ would wait for itself \(redlockctl release it first\)\n$/);
  }
  const skipped = await scriptWith(`${job} -E 0 own -- echo ran`);
  expect(skipped.stdout).toBe('0\nreleased: "own"\n');
  await untilNothingIsLeft(masters);
});

test('what is held for another process of this host is waited for', async () => {
  const theirs = await held('own', ...forStranger());
  const waiting = start(['own', '--', 'echo', 'ran']);
  await waiting.says('stderr', /waiting/);
  await release('own', theirs);
  expect(await waiting.result).toMatchObject({ code: 0, stdout: 'ran\n' });
});

test('so is the lock of a hold that was killed: it expires', async () => {
  const { pid } = await held('own', '--ttl', '2s', '--while-pid', String(process.pid));
  process.kill(pid, 'SIGKILL');
  await eventually('the holder has ended', () => !isAlive(pid));
  expect(await run(['own', '--', 'echo', 'ran'])).toMatchObject({ code: 0, stdout: 'ran\n' });
});
