// A process of another user that has left the command's session and has no parent, like a daemon
// started by sudo: it cannot be stopped, so it is reported, and the lock is left to expire. Needs
// root, to run redlock-run as a user without rights and a program that becomes root again.

import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestMaster } from '../servers/master.ts';
import { startMasters } from '../servers/masters.ts';
import { isAlive } from '../servers/processes.ts';
import { readableProgram } from '../servers/readable-copy.ts';
import { interpreter } from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { Succession } from './next-holder.ts';

const asUser = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
const asRoot = ['--reuid=0', '--regid=0', '--clear-groups'];
const folder = mkdtempSync(join(scratchFolder(), 'root-'));
const become = join(folder, 'become-root');
const obstacle = findObstacle();
if (obstacle !== null) process.stderr.write(`  SKIPPED: a daemon of another user: ${obstacle}\n`);

let masters: TestMaster[] = [];
beforeAll(async () => {
  if (obstacle === null) masters = await startMasters(3, { transport: 'tcp' });
});
const daemons: number[] = [];
afterAll(() => {
  for (const pid of daemons.filter(isAlive)) process.kill(pid, 'SIGKILL');
});

it.skipIf(obstacle !== null)('is seen before the lock is released', async () => {
  const daemon = `'echo "pid $$"; exec sleep 120 >/dev/null 2>&1'`;
  const script = `${become} ${asRoot.join(' ')} setsid -f sh -c ${daemon}; sleep 1; exit 5`;
  const run = new Succession(masters, (mark) => ['sh', '-c', script, mark], {
    through: asUser,
    path: readableProgram(),
    cwd: '/',
    env: { HOME: '/' },
  });
  const [, pid = ''] = await run.first.says('stdout', /pid (\d+)/, 30_000);
  daemons.push(Number(pid));
  const { code, stderr } = await run.result;
  expect(code).toBe(5);
  expect(stderr).toMatch(new RegExp(`cannot kill ${pid} `));
  expect(await run.keyCount()).toBeGreaterThanOrEqual(2);
});

it.skipIf(obstacle !== null)('its descendants of this user are stopped all the same', async () => {
  const drop = 'setpriv --reuid=65534 --regid=65534 --clear-groups';
  const sleeper = 'exec sleep 120 >/dev/null 2>&1';
  const ours = `setsid ${drop} sh -c 'trap "" TERM; echo "ours $$"; ${sleeper}' &`;
  const root = `echo "pid $$"; ${ours} exec sleep 120 >/dev/null 2>&1`;
  const script = `exec ${become} ${asRoot.join(' ')} sh -c '${root.replaceAll("'", `'"'"'`)}'`;
  const run = new Succession(masters, (mark) => ['sh', '-c', script, mark], {
    flags: ['--ttl', '6s', '-k', '500ms', '--max-run', '2s'],
    through: asUser,
    path: readableProgram(),
    cwd: '/',
    env: { HOME: '/' },
  });
  const [, pid = ''] = await run.first.says('stdout', /pid (\d+)/, 30_000);
  const [, own = ''] = await run.first.says('stdout', /ours (\d+)/, 30_000);
  daemons.push(Number(pid), Number(own));
  const { code, stderr } = await run.result;
  expect(code).toBe(124);
  expect(stderr).toMatch(new RegExp(`cannot kill ${pid} `));
  expect(isAlive(Number(own))).toBe(false);
});

/** null: this machine can run the test. */
function findObstacle(): string | null {
  if (process.getuid?.() !== 0) return 'not root';
  const found = spawnSync('sh', ['-c', 'command -v setpriv'], { encoding: 'utf8' }).stdout.trim();
  if (found === '') return 'no setpriv';
  copyFileSync(found, become);
  chmodSync(become, 0o4755);
  chmodSync(scratchFolder(), 0o711);
  chmodSync(folder, 0o755);
  const runs = (...args: string[]) => {
    const [file = '', ...rest] = [...asUser, ...args];
    return spawnSync(file, rest, { cwd: '/', encoding: 'utf8' });
  };
  const trial = runs(become, ...asRoot, 'id', '-u');
  if (trial.stdout?.trim() !== '0') return 'no set-user-ID programs in the temporary folder';
  const reads = runs(interpreter, readableProgram(), '--version');
  return reads.status === 0 ? null : 'a user without rights may not run Node';
}
