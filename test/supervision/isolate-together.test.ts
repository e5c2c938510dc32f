// --isolate for a run that has waited for its lock, and when redlock-run and its guard are killed
// together: the namespace ends with them, with all its processes.

import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { isStandalone } from '../servers/run-cli.ts';
import { fixture, Succession } from './next-holder.ts';
import { pass, sharedMasters } from './rig.ts';

const executable = fileURLToPath(new URL('../../dist/redlock-run', import.meta.url));
const asUser = process.getuid?.() === 0 ? [] : ['--user', '--map-current-user'];
const args = ['--pid', '--fork', '--kill-child', '--mount-proc', ...asUser, 'true'];
const trial = spawnSync('unshare', args, { encoding: 'utf8' });
const obstacle = trial.status === 0 ? null : String(trial.error ?? trial.stderr).trim();
const madeAt = (file: string) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
const isBuilt = !isStandalone && madeAt(executable) > madeAt(executable.concat('.js'));
if (obstacle !== null) process.stderr.write(`  SKIPPED: --isolate: ${obstacle}\n`);
else if (!isBuilt) process.stderr.write('  SKIPPED: no executable of this code is built\n');

/** Becomes the executable, with the arguments that were for Node and the package's program. */
const throughIt = ['sh', '-c', 'shift 2; exec "$0" "$@"', executable];
const builds = [
  { build: 'the program', through: [] },
  ...(isBuilt ? [{ build: 'the executable', through: throughIt }] : []),
];

describe.skipIf(obstacle !== null)('--isolate', () => {
  it.concurrent.each(builds)('after a wait for the lock, by $build', async ({ through }) => {
    const masters = await sharedMasters();
    const name = randomBytes(6).toString('hex');
    const key = `redlock:${name}`;
    for (const master of masters) await master.command('set', key, 'them', 'px', 60_000);
    const command = () => ['sh', '-c', 'echo "pid $$"; exit 6'];
    const run = new Succession(masters, command, { name, flags: ['--isolate'], through });
    await run.isQueued();
    await pass(1_000); // What is made ready during a wait is ready by now.
    for (const master of masters) await master.command('del', key);
    const stdout = expect.stringMatching(/^pid \d{1,2}\n$/); // A number of the namespace.
    expect(await run.result).toMatchObject({ code: 6, stdout });
  });

  it.concurrent('redlock-run and its guard killed together leave nothing', async () => {
    const script = `perl "${fixture('escape.pl')}" "$0" wiped; echo ready; sleep 120; :`;
    const run = new Succession(await sharedMasters(), (mark) => ['sh', '-c', script, mark], {
      flags: ['--ttl', '6s', '-k', '1s', '--isolate'],
    });
    await run.begun();
    const both = [run.first.pid, await run.guard()];
    for (const signal of ['SIGSTOP', 'SIGKILL']) {
      for (const pid of both) process.kill(pid, signal);
    }
    expect(await run.nextSees()).toBe('');
  });
});
