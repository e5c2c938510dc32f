// The process that a waiting run has ready for its command: it becomes the command, and otherwise nobody ever sees anything of it.

import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually, isAlive } from '../servers/processes.ts';
import { isPlainShell } from '../servers/shell.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { guardsOf, type Job, type JobOptions, pass, patient, sharedMasters, startJob, statOf } from './rig.ts';

/** It has a place in the queue, behind somebody who holds the lock for so long. */
async function waitingJob(command: readonly string[], options: JobOptions = {}, heldMs = 2_500): Promise<Job> {
  const masters = await sharedMasters();
  const name = randomBytes(6).toString('hex');
  for (const master of masters) await master.command('set', `redlock:${name}`, 'them', 'px', heldMs);
  return startJob(masters, command, { name, flags: patient, ...options });
}

/** Not the one that is tried out first. */
async function readyOf(job: Job): Promise<number> {
  const isReady = (pid: number) => /redlock_line(?!.*\/proc\/self\/environ)/.test(wordsOf(pid));
  return eventually('a shell waits', () => childrenOf(job.run.pid).find(isReady));
}

function childrenOf(parent: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => statOf(pid)?.parent === parent && !guardsOf(parent).includes(Number(pid))).map(Number);
}

const environmentOf = (pid: number) => readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').slice(0, -1);
const job = ['sh', '-c', 'echo ready $$; exec sleep 600'];

describe.skipIf(!isPlainShell)('the process of a command', () => {
  it.concurrent('becomes the command, with all that a command is told, and is ended like one', async () => {
    const waiting = await waitingJob(job);
    const pid = await readyOf(waiting);
    expect(environmentOf(pid).join()).not.toMatch(/REDLOCK_(RUN_IDS|TOKEN|NAME|FENCE|HELD)/);
    await waiting.ready();
    expect(waiting.run.stdout).toBe(`ready ${pid}\n`);
    const told = environmentOf(pid);
    for (const variable of ['REDLOCK_NAME', 'REDLOCK_HELD']) expect(told).toContain(`${variable}=${waiting.name}`);
    expect(told.join()).toMatch(/REDLOCK_FENCE=\d/);
    waiting.happens();
    waiting.run.signal('SIGKILL');
    expect((await waiting.outcome()).goneAfterMs).toBeLessThan(2_000);
  });

  it.concurrent('what it leaves behind is ended before the lock is released', async () => {
    const waiting = await waitingJob(['sh', '-c', 'setsid sleep 600 & echo ready; sleep 1; exit 3']);
    await readyOf(waiting);
    await waiting.ready();
    waiting.happens();
    const { code, stderr } = await waiting.outcome();
    expect(code).toBe(3);
    expect(stderr).toMatch(/1 process/);
  });

  it.concurrent('is ended with a run that is killed after it was let go, also when it has been stopped before', async () => {
    const waiting = await waitingJob(job);
    const pid = await readyOf(waiting);
    process.kill(pid, 'SIGSTOP');
    const [master] = await sharedMasters();
    await eventually(
      'the lock is granted',
      async () => (await master?.get(`redlock:${waiting.name}`)) !== 'them',
      5_000,
    );
    await pass(200); // It has been let go by then, and has not noticed.
    expect(environmentOf(pid).join()).not.toContain('REDLOCK_RUN_IDS');
    waiting.run.signal('SIGKILL');
    await eventually('it is gone', () => !isAlive(pid), 2_000);
    expect((await waiting.run.result).stdout).toBe('');
  });

  it.concurrent.each<[string, (pid: number) => unknown]>([
    ['', () => {}],
    [', also when it has been stopped: the guard knows it', (pid) => process.kill(pid, 'SIGSTOP')],
  ])('is gone with a run that is killed while it waits%s', async (_title, act) => {
    const waiting = await waitingJob(['sh', '-c', 'echo started'], {}, 20_000);
    const pid = await readyOf(waiting);
    act(pid);
    await pass(200);
    waiting.run.signal('SIGKILL');
    await eventually('it is gone', () => !isAlive(pid), 2_000);
    expect((await waiting.run.result).stdout).toBe('');
  });

  it.concurrent.each<[string, (file: string) => void, object]>([
    ['gone', (file) => unlinkSync(file), { outcome: 'not-found', exitCode: null }],
    ['not executable', (file) => chmodSync(file, 0o644), { outcome: 'not-executable', exitCode: null }],
    ['another one', (file) => writeFileSync(file, '#!/bin/sh\nexit 9\n'), { outcome: 'ran', exitCode: 9 }],
  ])('is not used when the program is %s by then', async (_title, act, expected) => {
    const folder = mkdtempSync(join(scratchFolder(), 'ahead-'));
    const file = join(folder, 'job');
    writeFileSync(file, '#!/bin/sh\nexit 3\n');
    chmodSync(file, 0o755);
    const report = join(folder, 'report.json');
    const waiting = await waitingJob([file], { flags: [...patient, '--report', report] });
    await readyOf(waiting);
    act(file);
    await waiting.run.result;
    expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject(expected);
  });

  it.concurrent('is not used when the working folder is another one by then', async () => {
    const folder = mkdtempSync(join(scratchFolder(), 'ahead-'));
    const cwd = join(folder, 'work');
    mkdirSync(cwd);
    const waiting = await waitingJob(['ls'], { cwd });
    await readyOf(waiting);
    renameSync(cwd, join(folder, 'old'));
    mkdirSync(cwd);
    writeFileSync(join(cwd, 'new'), '');
    expect(await waiting.run.result).toMatchObject({ code: 0, stdout: 'new\n', stderr: '' });
  });

  it.concurrent('is gone when a run has waited in vain', async () => {
    const flags = [...patient, '--wait', '1s'];
    const waiting = await waitingJob(['sh', '-c', 'echo started'], { flags }, 20_000);
    const pid = await readyOf(waiting);
    process.kill(pid, 'SIGSTOP'); // It would end by itself otherwise.
    const ended = new Promise((resolve) => waiting.run.child.once('exit', () => resolve(isAlive(pid))));
    expect(await waiting.run.result).toMatchObject({ code: 75, stdout: '' });
    expect(await ended).toBe(false);
  });

  it.concurrent('is done without when somebody has killed it', async () => {
    const waiting = await waitingJob(['sh', '-c', 'echo ready; exit 4']);
    process.kill(await readyOf(waiting), 'SIGKILL');
    expect(await waiting.run.result).toMatchObject({ code: 4, stdout: 'ready\n' });
  });
});

it.concurrent('is not had where a shell would change what the command sees', async () => {
  const env = { 'no.name': 'kept' };
  const waiting = await waitingJob(['cat', '/proc/self/environ'], { env });
  await eventually('its guard is there', () => guardsOf(waiting.run.pid).length === 1);
  await pass(1_000); // It has been tried out by then.
  expect(childrenOf(waiting.run.pid)).toEqual([]);
  const { code, stdout } = await waiting.run.result;
  expect(code).toBe(0);
  expect(stdout.split('\0')).toContain('no.name=kept');
});

function wordsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // It ended meanwhile.
  }
}
