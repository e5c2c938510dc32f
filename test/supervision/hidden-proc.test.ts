// A /proc that hides processes (hidepid, ProtectProc of systemd): a hidden process is still a child
// of the guard, is stopped, and keeps the lock until then. A /proc that the job unmounts: the run
// ends as always. Needs root, for the mounts.

import { spawnSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import type { TestMaster } from '../servers/master.ts';
import { startMasters } from '../servers/masters.ts';
import { readableFixture, readableProgram } from '../servers/readable-copy.ts';
import { interpreter } from '../servers/run-cli.ts';
import { Succession } from './next-holder.ts';

const leaves = `perl "${readableFixture('escape.pl')}" "$@" && echo ready; read -r line; exit 3`;
const asUser = 'exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"';
const hiding = (how: number) => {
  const script = `mount -t proc -o hidepid=${how} proc /proc && ${asUser}`;
  return ['unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script, 'sh'];
};
const obstacle = findObstacle();
if (obstacle !== null) process.stderr.write(`  SKIPPED: a /proc that hides: ${obstacle}\n`);

let masters: TestMaster[] = [];
beforeAll(async () => {
  if (obstacle === null) masters = await startMasters(3, { transport: 'tcp' });
});

describe.skipIf(obstacle !== null)('where /proc hides processes', () => {
  it.concurrent.each([1, 2])(
    'hidepid=%d: what leaves and hides is ended before the lock is free',
    async (how) => {
      const command = (mark: string) => ['sh', '-c', leaves, mark, mark, 'undumpable'];
      const run = new Succession(masters, command, {
        flags: ['--ttl', '60s', '-k', '1s'],
        stdin: 'pipe',
        through: hiding(how),
        path: readableProgram(),
        cwd: '/',
        env: { HOME: '/' },
      });
      await run.begun();
      run.first.child.stdin?.end();
      expect(await run.nextSees()).toBe('');
      expect(await run.result).toMatchObject({
        code: 3,
        stderr: expect.stringMatching(/left 1 process behind/),
      });
    },
  );
});

const unmounting = ['unshare', '--mount', '--propagation', 'private'];
it.skipIf(obstacle !== null)('a job that unmounts /proc: released when it has ended', async () => {
  const unmount = 'umount -l /proc; echo ready; read -r line; exit 3';
  const command = (mark: string) => ['sh', '-c', unmount, mark];
  const run = new Succession(masters, command, {
    flags: ['--ttl', '60s', '-k', '1s', '-v'],
    stdin: 'pipe',
    through: unmounting,
  });
  await run.begun();
  run.first.child.stdin?.end();
  expect(await run.nextSees()).toBe('');
  expect(await run.result).toMatchObject({ code: 3, stderr: expect.not.stringContaining('NaN') });
});

/** null: this machine can run the test. */
function findObstacle(): string | null {
  if (process.getuid?.() !== 0) return 'not root';
  const [file = '', ...args] = [...hiding(2), interpreter, readableProgram(), '--version'];
  const trial = spawnSync(file, args, { cwd: '/', encoding: 'utf8' });
  return trial.status === 0 ? null : (trial.error?.message ?? trial.stderr.trim());
}
