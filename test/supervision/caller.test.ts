// A waiter whose caller is gone, as after an ssh or docker client that died: it leaves the queue
// and starts nothing. What is no pipe and no socket is never taken for a caller that is gone.

import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { TestMaster } from '../servers/master.ts';
import { childrenOf, procText } from '../servers/proc.ts';
import { eventually } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { type Job, sharedMasters, startJob } from './rig.ts';

/** A waiter for a lock that another client holds, and the file that its command would write. */
async function waiting(name: string, through: readonly string[] = []) {
  const masters = await sharedMasters();
  for (const master of masters) await master.command('set', `redlock:${name}`, 'x', 'px', 60_000);
  const file = join(scratchFolder(), `ran-${name}`);
  const job = startJob(masters, ['touch', file], { name, flags: ['--ttl', '12s'], through });
  await eventually('it waits', () => isQueued(masters, name), 20_000);
  return { masters, job, ran: () => existsSync(file) };
}

async function isQueued(masters: readonly TestMaster[], name: string): Promise<boolean> {
  const counts = masters.map((master) => master.command('zcard', `{redlock:${name}}:queue`));
  return (await Promise.all(counts)).filter(Number).length === masters.length;
}

async function release(masters: readonly TestMaster[], name: string): Promise<void> {
  for (const master of masters) await master.command('del', `redlock:${name}`);
}

/** The process that watches stderr while the run waits. */
function watchOf({ run }: Job): number | undefined {
  return childrenOf(run.pid).find((pid) => procText(pid, 'cmdline').includes('--until-hung-up'));
}

it.concurrent('leaves the queue at once', async () => {
  const { masters, job, ran } = await waiting('gone');
  job.run.child.stderr?.destroy();
  expect((await job.run.result).code).toBe(75);
  expect(await isQueued(masters, 'gone')).toBe(false);
  expect(ran()).toBe(false);
});

it.concurrent('starts nothing where that is noticed only with the lock', async () => {
  const { masters, job, ran } = await waiting('late');
  process.kill((await eventually('it watches', () => watchOf(job))) as number, 'SIGKILL');
  job.run.child.stderr?.destroy();
  await release(masters, 'late');
  expect((await job.run.result).code).toBe(75);
  expect(ran()).toBe(false);
  for (const master of masters) expect(await master.get('redlock:late')).toBeNull();
});

it.concurrent.each([
  ['a file', (file: string) => `exec "$@" 2>${file}`],
  ['/dev/null', () => 'exec "$@" 2>/dev/null'],
  ['closed', () => 'exec "$@" 2>&-'],
])('%s is no caller that is gone', async (title, script) => {
  const name = title.replaceAll(/\W/g, '');
  const file = join(scratchFolder(), `stderr-${name}`);
  closeSync(openSync(file, 'w'));
  const { masters, job, ran } = await waiting(name, ['sh', '-c', script(file), 'sh']);
  job.run.child.stderr?.destroy();
  await release(masters, name);
  expect((await job.run.result).code).toBe(0);
  expect(ran()).toBe(true);
});

it.concurrent('the watch ends with the run that is killed', async () => {
  const { job } = await waiting('killed');
  const watch = (await eventually('it watches', () => watchOf(job))) as number;
  job.run.signal('SIGKILL');
  await job.run.result;
  await eventually('the watch is gone', () => procText(watch, 'cmdline') === '', 5_000);
});
