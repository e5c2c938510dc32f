// Passwords that change while runs go on: a rotation costs no vote, and no password is shown.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { type RunOptions, runCli, startCli } from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { fileWith, linesOf } from './rig.ts';

afterAll(async () => {
  await stopAll();
  nothingLeft();
});

let masters: TestMaster[] = [];
let file: string;
let calls: string;

beforeEach(async () => {
  const user = ['job', 'on', '>first', '~*', '&*', '+@all'];
  masters = await startMasters(3, { config: { user } });
  file = fileWith('first\n');
  calls = join(scratchFolder(), `calls-${masters[0]?.pid}`);
  writeFileSync(calls, '');
});

/** Changes the password as an operator does, and ends every connection of the user. */
async function rotate(next: string): Promise<void> {
  const everywhere = (...args: string[]) =>
    Promise.all(masters.map((master) => master.command(...(args as [string, ...string[]]))));
  await everywhere('acl', 'setuser', 'job', `>${next}`);
  writeFileSync(file, `${next}\n`);
  await everywhere('acl', 'setuser', 'job', '<first');
  await everywhere('client', 'kill', 'user', 'job');
}

const environment = (more: Record<string, string>): RunOptions => ({
  env: {
    REDLOCK_MASTERS: masters.map(({ url }) => url).join(','),
    REDLOCK_RESTART_GRACE: '0',
    REDLOCK_USERNAME: 'job',
    ...more,
  },
});

const byFile = () => ({ REDLOCK_PASSWORD_FILE: file });
const byCommand = () => ({ REDLOCK_PASSWORD_COMMAND: `echo run >> ${calls}; cat ${file}` });

test.each([
  ['a file', byFile],
  ['a command', byCommand],
])('a password of %s that changes during a run costs no vote', async (_, how) => {
  const args = ['-v', '--ttl', '3s', '-k', '200ms', 'name', '-c', 'echo on; sleep 5; echo end'];
  const run = startCli(args, environment(how()));
  await eventually('it runs', () => run.stdout.includes('on'), 20_000);
  await rotate('second');
  await sleep(3_500); // By now only a master that was asked since then has the key.
  const has = masters.map((master) => master.command('exists', 'redlock:name'));
  expect(await Promise.all(has)).toEqual([1, 1, 1]);
  const { code, stdout, stderr } = await run.result;
  expect([code, stdout], stderr).toEqual([0, 'on\nend\n']);
  expect(stderr).not.toMatch(/warning|WRONGPASS|first|second/);
});

test('a command runs once for all masters, and again only after a refused login', async () => {
  const untilTwice = `echo on; until [ $(wc -l <${calls}) -ge 2 ]; do sleep 0.1; done`;
  const args = ['--ttl', '3s', '-k', '200ms', 'name', '-c', untilTwice];
  const run = startCli(args, environment(byCommand()));
  await eventually('it runs', () => run.stdout.includes('on'), 20_000);
  await sleep(1_500); // It would not run twice in a second.
  const everywhere = (...args: [string, ...string[]]) =>
    Promise.all(masters.map((master) => master.command('client', ...args)));
  expect(await everywhere('kill', 'user', 'job')).not.toContain(0);
  const isThere = (clients: unknown) => / user=job /.test(String(clients));
  await eventually('connected again', async () => (await everywhere('list')).every(isThere));
  expect(linesOf(readFileSync(calls, 'utf8'))).toEqual(['run']);
  await rotate('second');
  expect((await run.result).code).toBe(0);
  expect(linesOf(readFileSync(calls, 'utf8'))).toEqual(['run', 'run']);
});

test('open connections log in anew when passwordTtl is over', async () => {
  const more = { ...byCommand(), REDLOCK_PASSWORD_TTL: '200ms' };
  const script = 'echo on; read line';
  const args = ['--ttl', '30s', 'name', '--', 'sh', '-c', script];
  const run = startCli(args, { ...environment(more), stdin: 'pipe' });
  await eventually('it runs', () => run.stdout.includes('on'), 20_000);
  const [master] = masters as [TestMaster];
  const logins = async () =>
    Number(
      /cmdstat_auth:calls=(\d+)/.exec(String(await master.command('info', 'commandstats')))?.[1],
    );
  const connections = async () =>
    Number(
      /total_connections_received:(\d+)/.exec(String(await master.command('info', 'stats')))?.[1],
    );
  // The run listens for requests to stop, on a connection of its own.
  const started = await connections();
  await eventually('it listens', async () => (await connections()) > started, 10_000);
  const [before, opened] = [await logins(), await connections()];
  // As many as would make Node warn of listeners that nothing removes, on two connections.
  await eventually('more logins', async () => (await logins()) >= before + 24, 10_000);
  expect(await connections()).toBe(opened);
  run.child.stdin?.end('\n');
  expect((await run.result).code).toBe(0);
});

test('a command that fails at the start: 78 at once, without what it printed', async () => {
  const how = { REDLOCK_PASSWORD_COMMAND: 'echo s3cret; echo s3cret >&2; exit 5' };
  const { code, stdout, stderr } = await runCli(['name', '--', 'true'], environment(how));
  expect([code, stdout, stderr]).toEqual([
    78,
    '',
    'redlock-run: REDLOCK_PASSWORD_COMMAND: exited 5 (run it by hand)\n',
  ]);
});

test('the output of the command is in no argument and no environment', async () => {
  const command = 'cat /proc/self/environ /proc/$PPID/environ /proc/$PPID/cmdline';
  const args = ['name', '--', 'sh', '-c', command];
  const { code, stdout } = await runCli(args, environment(byCommand()));
  expect([code, stdout.includes('first')]).toEqual([0, false]);
});
