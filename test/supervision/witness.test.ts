// The witness accuses a process that is alive after a quorum has lost its key, and none while a
// lock is only being acquired.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, expect, it } from 'vitest';
import type { TestMaster } from '../servers/master.ts';
import { startMasters, stopAll } from '../servers/masters.ts';
import { allProcesses, lookAt, Witness } from './witness.ts';

afterAll(stopAll);

it('does not accuse while one of three has the key, before a quorum has had it', async () => {
  const masters = (await startMasters(3)) as [TestMaster, TestMaster, TestMaster];
  const name = randomBytes(6).toString('hex');
  const job = spawn('sh', ['-c', 'sleep 600; true', name], { stdio: 'ignore', detached: true });
  const witness = new Witness([name], name, masters);
  try {
    const [first, second] = masters;
    await first.command('set', name, 'ours', 'px', 60_000);
    await witness.looks();
    expect(witness.alive).not.toEqual([]); // Two while the shell forks.
    expect(witness.outlived).toEqual([]);
    await second.command('set', name, 'ours', 'px', 60_000);
    await witness.looks();
    expect(witness.outlived).toEqual([]);
    await second.command('del', name);
    await witness.looks();
    await witness.looks();
    expect(witness.outlived[0]).toMatch(new RegExp(`${name}.* \\(\\w \\([\\w ]+\\); key free`));
  } finally {
    witness.end();
    process.kill(-(job.pid as number), 'SIGKILL');
  }
});

it('does not accuse a process started under a lock acquired anew', async () => {
  const masters = await startMasters(3);
  const name = randomBytes(6).toString('hex');
  const witness = new Witness([name], name, masters);
  const command = (word: string, ...args: (string | number)[]) =>
    Promise.all(masters.map((master) => master.command(word, ...args)));
  let job: ChildProcess | null = null;
  try {
    await command('set', name, 'first', 'px', 60_000);
    await witness.looks();
    await command('del', name);
    await witness.looks();
    await lookAt([witness], async () => {
      await command('set', name, 'second', 'px', 60_000);
      job = spawn('sh', ['-c', 'sleep 600; true', name], { stdio: 'ignore', detached: true });
      await once(job, 'spawn');
      return allProcesses();
    });
    expect(witness.alive).not.toEqual([]); // Two while the shell forks.
    expect(witness.outlived).toEqual([]);
  } finally {
    witness.end();
    if (job) process.kill(-((job as ChildProcess).pid as number), 'SIGKILL');
  }
});
