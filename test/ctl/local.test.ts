// The local masters by hand, in a directory of the test. Every server that is started here is ended
// here, also when the test fails: the pid files name them.

import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isAlive } from '../servers/processes.ts';
import { type CliResult, startCli } from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { ctl as call, startedCtl } from './rig.ts';

let folder: string;
const servers: number[] = [];

beforeEach(() => {
  folder = join(mkdtempSync(join(scratchFolder(), 'l')), 'm');
});
afterEach(() => {
  for (const pid of servers.splice(0)) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
});

const ctl = (...args: string[]) => answerBy(call, args);

async function answerBy(asked: typeof call, args: readonly string[]): Promise<CliResult> {
  const { HOME, XDG_CACHE_HOME } = process.env;
  const usual = { REDLOCK_MASTERS: undefined, REDLOCK_RESTART_GRACE: undefined };
  const env = { ...usual, HOME, XDG_CACHE_HOME, REDLOCK_LOCAL_DIRECTORY: folder };
  const result = await asked([], args, { env });
  servers.push(...pids());
  return result;
}

function pids(): number[] {
  try {
    const files = readdirSync(folder).filter((name) => name.endsWith('.pid'));
    return files.map((name) => Number(readFileSync(join(folder, name), 'utf8')));
  } catch {
    return [];
  }
}

const states = ({ stdout }: CliResult) =>
  JSON.parse(stdout).masters.map(({ state }: { state: string }) => state);

test('stopped, started, started again without harm, stopped', async () => {
  expect((await ctl('local', 'status')).code).toBe(69);
  expect(states(await ctl('local', 'status', '--json'))).toEqual(['stopped', 'stopped', 'stopped']);
  // By a program of its own, which they outlive.
  const started = await answerBy(startedCtl, ['local', 'start', '--json']);
  expect(started.code).toBe(0);
  expect(states(started)).toEqual(['running', 'running', 'running']);
  const first = pids();
  expect((await ctl('local', 'start')).stdout).toMatch(
    /^MASTER +STATE\nunix:\/\/.*m1\.sock +running\n/,
  );
  expect(pids()).toEqual(first);
  expect(await ctl('status', 'job', '--local')).toMatchObject({ code: 0 });
  expect((await ctl('local', 'stop')).code).toBe(0);
  expect(states(await ctl('local', 'status', '--json'))).toEqual(['stopped', 'stopped', 'stopped']);
  expect((await ctl('local', 'stop')).code).toBe(0);
});

test('status starts nothing', async () => {
  const looked = await ctl('status', 'job', '--local');
  const absent = 'no such socket (the next run with --local starts it, or redlockctl local start)';
  expect(looked).toMatchObject({
    code: 69,
    stdout: expect.stringMatching(/^"job": unknown: no quorum: only 0 of 3 masters can tell\n/),
  });
  expect(looked.stdout.split(absent)).toHaveLength(4);
  const listed = await ctl('list', '--local');
  expect(listed.code).toBe(69);
  expect(listed.stderr).toMatch(/\nredlockctl: no quorum: only 0 of 3 masters can tell\n$/);
  expect(pids()).toEqual([]);
});

test('a command that is not there starts nothing', async () => {
  const { code, stderr } = await startCli(['--local', 'job', '--', 'there-is-no-such-program'], {
    env: { HOME: process.env.HOME, REDLOCK_LOCAL_DIRECTORY: folder },
  }).result;
  expect([code, stderr]).toEqual([
    127,
    'redlock-run: command: "there-is-no-such-program": not found (check the name and PATH)\n',
  ]);
  expect(existsSync(folder)).toBe(false);
});

test('stop asks before it ends locks', async () => {
  await ctl('local', 'start');
  const job = startCli(['--local', 'job', '--', 'sleep', '60'], {
    env: { HOME: process.env.HOME, REDLOCK_LOCAL_DIRECTORY: folder },
  });
  await expect.poll(async () => (await ctl('status', 'job', '--local')).code).toBe(75);
  const refused = await ctl('local', 'stop');
  expect(refused).toMatchObject({
    code: 64,
    stderr: expect.stringMatching(/1 lock is held on them \(say --yes/),
  });
  expect(states(await ctl('local', 'status', '--json'))).toEqual(['running', 'running', 'running']);
  job.signal('SIGTERM');
  await job.result;
  expect((await ctl('local', 'stop')).code).toBe(0);
});

test('a job whose directory of servers was moved away loses its lock and is stopped', async () => {
  const env = {
    HOME: process.env.HOME,
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME,
    REDLOCK_LOCAL_DIRECTORY: folder,
  };
  const command = ['sh', '-c', 'echo ready; exec sleep 600'];
  const job = startCli(['--local', '--ttl', '3s', '-k', '200ms', 'job', '--', ...command], { env });
  await job.says('stdout', /ready/, 20_000);
  servers.push(...pids());
  renameSync(folder, `${folder}.old`);
  // With its next extension, after a third of the ttl.
  await job.says(
    'stderr',
    /^redlock-run: lost: "job": masters-replaced: the local masters were removed/,
    3_000,
  );
  expect((await job.result).code).toBe(79);
});
