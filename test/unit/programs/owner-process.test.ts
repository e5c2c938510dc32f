import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { callerOf, isThere, ownerOf } from '../../../src/system/process-table.ts';
import { eventually } from '../../servers/processes.ts';

const here = ownerOf(process.pid);

it('is there as long as the process lives, whose number alone proves nothing', () => {
  expect(here && isThere(here)).toBe(true);
  expect(here && isThere({ ...here, startedAt: here.startedAt - 1 })).toBe(false);
  expect([0, 999_999_999].map(ownerOf)).toEqual([null, null]);
});

it('has gone when it has ended, also while its parent has not asked how', async () => {
  const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60']);
  const [pid] = await once(parent.stdout, 'data');
  const owner = ownerOf(Number(pid));
  process.kill(Number(pid), 'SIGKILL');
  await eventually('gone', () => owner && !isThere(owner));
  parent.kill('SIGKILL');
});

it.skipIf(process.platform !== 'linux')(
  'is the shell and not the copy that a shell makes of itself',
  async () => {
    const shell = spawn('sh', ['-c', 'echo $$; (sh -c "echo \\$PPID; read line"; true) ; true'], {
      stdio: 'pipe',
    });
    let said = '';
    shell.stdout.on('data', (data) => {
      said += data;
    });
    await eventually('both', () => said.trim().split('\n').length === 2);
    const [own = 0, copy = 0] = said.trim().split('\n').map(Number);
    expect(copy).not.toBe(own);
    expect([callerOf(copy)?.pid, callerOf(own)?.pid]).toEqual([own, own]);
    shell.kill('SIGKILL');
  },
);
