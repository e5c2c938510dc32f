// The guard as a process: hard to end by accident, not found by a search for something
// else, gone after every run, and no run without one.

import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runTimings, stopAtMsOf } from '../../src/lock/timings.ts';
import { noConfiguration } from '../servers/no-configuration.ts';
import { generous } from '../servers/patience.ts';
import { childrenOf } from '../servers/proc.ts';
import { eventually, isAlive } from '../servers/processes.ts';
import { ownProgram } from '../servers/readable-copy.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { guardsOf, linesOf, pass, patient, sharedMasters, startJob, statOf } from './rig.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const stays = ['sh', '-c', 'echo ready; exec sleep 600'];

it.concurrent('has a name, a session, a folder and an environment of its own', async () => {
  const job = await startJob(await sharedMasters(), stays, { flags: patient }).ready();
  const pid = job.guardPid;
  expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', '')).toBe('redlock-guard');
  expect(statOf(pid)).toMatchObject({ command: 'redlock-guard', session: pid });
  expect(readlinkSync(`/proc/${pid}/cwd`)).toBe('/');
  const names = readFileSync(`/proc/${pid}/environ`, 'utf8')
    .split('\0')
    .map((line) => line.split('=')[0]);
  expect(names.filter((name) => name && !/^(LD_|FAKETIME)/.test(name))).toEqual([]);
  const found = (...args: string[]) =>
    spawnSync('pgrep', args, { encoding: 'utf8' }).stdout.split('\n');
  const runName = statOf(job.run.pid)?.command ?? 'ended';
  expect(found('-x', runName)).not.toContain(String(pid));
  expect(found('-f', 'redlock-run')).not.toContain(String(pid));
  expect(found('-x', runName)).toContain(String(job.run.pid)); // This look can find something.
  job.run.signal('SIGTERM');
  await job.run.result;
});

it.concurrent('ignores every signal that can be ignored, and works on', async () => {
  const job = await startJob(await sharedMasters(), stays, { flags: patient }).ready();
  const pid = job.guardPid;
  for (const signal of [
    'HUP',
    'INT',
    'QUIT',
    'TERM',
    'TSTP',
    'TTIN',
    'USR1',
    'USR2',
    'PIPE',
    'ALRM',
    'XCPU',
    'PWR',
  ]) {
    process.kill(pid, `SIG${signal}` as NodeJS.Signals);
  }
  await pass(200);
  expect(guardsOf(job.run.pid)).toEqual([pid]);
  job.happens();
  job.run.signal('SIGKILL');
  expect((await job.outcome()).goneAfterMs).toBeLessThan(4_000);
});

it.concurrent('is believed when it stops a command before redlock-run does', async () => {
  // Long before the first extension, and long enough for the command to have begun.
  const earlyMs = stopAtMsOf(runTimings(60_000, null, null)) - Math.min(15_000, generous(2_500));
  const command = ['sh', '-c', 'trap "exit 0" TERM; echo ready; sleep 600 & wait'];
  const options = { flags: ['--ttl', '60s'], path: programWithEarlyGuard(earlyMs) };
  const job = await startJob(await sharedMasters(), command, options).ready();
  job.happens();
  const outcome = await job.outcome();
  expect([outcome.code, linesOf(outcome)]).toEqual([
    79,
    [expect.stringMatching(/lost: .* unreachable: .*; the command was stopped: exit code 0$/)],
  ]);
});

/** The path of a redlock-run whose guard begins to stop the command this much before its time. */
function programWithEarlyGuard(earlyMs: number): string {
  const { path, folder } = ownProgram();
  const guard = join(folder, 'dist', 'redlock-guard');
  renameSync(guard, `${guard}.real`);
  writeFileSync(guard, `#!/bin/sh\n${earlier(`${earlyMs}000000`)}exec "$0.real" "$@"\n`);
  chmodSync(guard, 0o755);
  return path;
}

/** Makes the first instant among the arguments, the first deadline, earlier by some ns. */
const earlier = (ns: string) => `
early() { IFS=,; set -- $1; unset IFS; echo "$(($1 - ${ns})),$(($2 - ${ns})),$(($3 - ${ns}))"; }
isFirst=1
for one do
  shift
  case $isFirst$one in
    1*,*,*) one=$(early "$one"); isFirst= ;;
  esac
  set -- "$@" "$one"
done
`;

it.concurrent('stops a process without environment, family, session and name', async () => {
  const own = `$(exec sh -c 'echo $PPID')`;
  const child = '(sleep 0.5; exec env -i setsid sleep 600)';
  const leaves = `( ${child} & echo "ready $! ${own}"; sleep 0.8 ) & exec sleep 600`;
  const job = startJob(await sharedMasters(), ['sh', '-c', leaves], { flags: patient });
  await job.ready();
  const [pid = 0, parent] = (/ready (\d+) (\d+)/.exec(job.run.stdout) ?? []).slice(1).map(Number);
  try {
    await eventually(
      'it has left',
      () => statOf(pid)?.session === pid && statOf(pid)?.parent !== parent,
    );
    job.run.signal('SIGKILL');
    await eventually('it is gone', () => !isAlive(pid), 10_000);
  } finally {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  }
});

it.concurrent('SIGUSR1 opens no inspector, in neither of the two', async () => {
  const job = await startJob(
    await sharedMasters(),
    [...['sh', '-c'], "trap '' USR1; echo ready; sleep 600"],
    {
      flags: patient,
    },
  ).ready();
  for (const pid of [job.run.pid, job.guardPid]) {
    process.kill(pid, 'SIGUSR1');
    await pass(300);
    expect(await refuses(9229)).toBe(true);
  }
  job.run.signal('SIGTERM');
  expect(linesOf(await job.run.result)).toEqual([]);
});

it.concurrent('SIGUSR1 opens no inspector at any moment of a run', async () => {
  const masters = await sharedMasters();
  const ends = Array.from({ length: 5 }, async () => {
    const { run } = startJob(masters, ['true'], { flags: patient });
    await eventually(
      'its guard is there, if it was seen at all',
      () => guardsOf(run.pid).length > 0 || !isAlive(run.pid),
    );
    while (isAlive(run.pid)) {
      run.signal('SIGUSR1');
      await new Promise(setImmediate);
    }
    return linesOf(await run.result);
  });
  expect((await Promise.all(ends)).flat()).toEqual([]);
});

it.concurrent.each([
  ['a command that succeeds', ['true'], 0],
  ['a command that fails', ['false'], 1],
  ['a command that is not there', ['there-is-no-such-program'], 127],
  ['a command that dies of SIGKILL', ['sh', '-c', 'kill -9 $$'], 137],
])('is gone after %s', async (_title, command, code) => {
  const job = startJob(await sharedMasters(), command, { flags: patient });
  const pids = await guardsUntilTheEnd(job.run.pid, job.run.result);
  expect((await job.run.result).code).toBe(code);
  expect(pids.filter(isAlive)).toEqual([]);
});

it.concurrent('is started only when the lock is acquired', async () => {
  const masters = await sharedMasters();
  for (const master of masters) await master.command('set', 'redlock:held', 'theirs', 'px', 60_000);
  const ended = startJob(masters, ['true'], { name: 'held', flags: ['-w', '4s'] });
  const pids = await guardsUntilTheEnd(ended.run.pid, ended.run.result);
  expect((await ended.run.result).code).toBe(75);
  expect(pids).toEqual([]);
});

it.concurrent('a guard suspended at the end is not left, and no exit code is lost', async () => {
  const command = ['sh', '-c', 'echo ready; read -r _; exit 5'];
  const job = startJob(await sharedMasters(), command, { flags: patient, stdin: 'pipe' });
  await job.ready();
  const pid = job.guardPid;
  process.kill(pid, 'SIGSTOP');
  job.run.child.stdin?.end('\n');
  const result = await job.run.result;
  expect(result.code).toBe(5);
  expect(linesOf(result)).toEqual([]);
  expect(isAlive(pid)).toBe(false);
});

it.concurrent('what a guard that has ended had reported counts', async () => {
  // redlock-run is stopped before it can read that the command has been started.
  const parent = (pid: string) => `set -- $(cat /proc/${pid}/stat)`;
  const stopsIt = `echo began; ${parent('$PPID')}; ${parent('$4')}; kill -STOP $4; exit 5`;
  const job = startJob(await sharedMasters(), ['sh', '-c', stopsIt], { flags: patient });
  const { pid } = job.run;
  await eventually('it is stopped', () => statOf(pid)?.state === 'T', 20_000);
  const hasEnded = () => childrenOf(pid).every((child) => statOf(child)?.state === 'Z');
  await eventually('the guards have ended', hasEnded, 20_000);
  job.run.signal('SIGCONT');
  expect(await job.run.result).toMatchObject({ code: 5, stdout: 'began\n' });
});

/** perl: traces its parent without stopping it, and never waits for it (PTRACE_SEIZE). */
const call = { x64: 101, arm64: 117 }[process.arch as string];
const traces = `syscall(${call}, 0x4206, getppid, 0, 0) == 0 or die "ptrace: $!"`;
const canTrace = spawnSync('sh', ['-c', `perl -e '${traces}'; exit $?`]).status === 0;
if (!call || !canTrace) process.stderr.write('  SKIPPED: a process may not trace its parent\n');

it.skipIf(!call || !canTrace).concurrent(
  'a death that the kernel hides is told by the end of its pipe',
  async () => {
    const command = ['perl', '-e', `$| = 1; ${traces}; print "ready\n"; sleep 600`];
    const job = await startJob(await sharedMasters(), command, { flags: patient }).ready();
    job.happens();
    process.kill(job.guardPid, 'SIGKILL');
    const { code, stderr } = await job.outcome();
    expect([code, stderr]).toEqual([79, expect.stringContaining('the guard process died;')]);
  },
);

it.concurrent('no guard, no job: exit 78, one line of what to do, and no lock', async () => {
  const masters = await sharedMasters();
  const copy = mkdtempSync(join(scratchFolder(), 'no-guard-'));
  for (const folder of ['bin', 'dist'])
    cpSync(join(root, folder), join(copy, folder), { recursive: true });
  cpSync(join(root, 'package.json'), join(copy, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  rmSync(join(copy, 'dist/redlock-guard'));
  const environment = {
    PATH: process.env.PATH,
    REDLOCK_MASTERS: masters.map(({ url }) => url).join(','),
    HOME: copy,
  };
  const args = [join(copy, 'bin/redlock-run.js'), 'no-guard', '--', 'touch', join(copy, 'ran')];
  const env = { ...environment, ...noConfiguration, REDLOCK_RESTART_GRACE: '0' };
  const run = execFile(process.execPath, args, { env, cwd: copy, timeout: generous(20_000) });
  let stderr = '';
  run.stderr?.on('data', (text) => {
    stderr += text;
  });
  const [code] = await once(run, 'close');
  expect(code).toBe(78);
  expect(stderr.trim().split('\n').at(-1)).toMatch(
    /^redlock-run: guard: redlock-guard is missing: .* \(npm install .*\)$/,
  );
  expect(() => readFileSync(join(copy, 'ran'))).toThrow(/ENOENT/);
  for (const master of masters) expect(await master.get('redlock:no-guard')).toBeNull();
});

/** All guards that this process had while it lived. */
async function guardsUntilTheEnd(parent: number, end: Promise<unknown>): Promise<number[]> {
  const pids = new Set<number>();
  let isOver = false;
  const over = end.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    for (const pid of guardsOf(parent)) pids.add(pid);
    await pass(10);
  }
  await over;
  return [...pids];
}

function refuses(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', () => resolve(true));
  });
}
