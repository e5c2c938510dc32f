// Processes that leave the command's family and hide: each has ended before the next holder starts,
// whichever process ended first, and without --isolate.

import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { startMasters } from '../servers/masters.ts';
import { hasPerl } from '../servers/perl.ts';
import { readableFixture, readableProgram } from '../servers/readable-copy.ts';
import { interpreter } from '../servers/run-cli.ts';
import { Succession } from './next-holder.ts';
import { sharedMasters } from './rig.ts';

/** Says "ready" when all of them are in place; ends with code 3 when its stdin ends. */
const leaves = `perl "${readableFixture('escape.pl')}" "$@" && echo ready; read -r line; exit 3`;
const hidden = ['wiped', 'marked', 'pretender'];
const hiding = (ways: readonly string[]) => (mark: string) => {
  return ['sh', '-c', leaves, mark, mark, ...ways];
};

const ends = [
  ['a normal end of the command', async (run: Succession) => endOfInput(run)],
  ['SIGKILL of redlock-run', async (run: Succession) => run.first.signal('SIGKILL')],
  ['SIGSTOP of redlock-run', async (run: Succession) => run.first.signal('SIGSTOP')],
  ['SIGKILL of the guard', async (run: Succession) => process.kill(await run.guard(), 'SIGKILL')],
] as const;

// Root can read the environment of any process, so this one needs a user without rights.
const isRoot = process.getuid?.() === 0;
const asUser = isRoot ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];
const obstacle = obstacleToUndumpable();
if (obstacle !== null) process.stderr.write(`  SKIPPED: PR_SET_DUMPABLE: ${obstacle}\n`);

describe.skipIf(!hasPerl)('what hides is gone before the lock is free', () => {
  it.concurrent.each(ends)('after %s', async (_title, happens) => {
    const run = new Succession(await sharedMasters(), hiding(hidden), { stdin: 'pipe' });
    await run.begun();
    await happens(run);
    expect(await run.nextSees()).toBe('');
  });

  const title = 'what lets no other process look at it, after %s';
  it.skipIf(obstacle !== null).concurrent.each(ends)(title, async (_title, happens) => {
    const user = { through: asUser, path: readableProgram(), cwd: '/', env: { HOME: '/' } };
    const options = { stdin: 'pipe', ...user } as const;
    const run = new Succession(await unprivilegedMasters(), hiding(['undumpable']), options);
    await run.begun();
    await happens(run);
    expect(await run.nextSees()).toBe('');
  });
});

function endOfInput(run: Succession): void {
  run.first.child.stdin?.end();
}

let ofUser: ReturnType<typeof startMasters> | null = null;

/** Masters that any user of this machine may reach. */
function unprivilegedMasters() {
  ofUser ??= startMasters(3, { transport: 'tcp' });
  return ofUser;
}

/** null: this machine can run the test. */
function obstacleToUndumpable(): string | null {
  const [file = '', ...rest] = [...asUser, interpreter, readableProgram(), '--version'];
  const reads = spawnSync(file, rest, { cwd: '/', encoding: 'utf8' });
  if (reads.status !== 0) return `a user without rights cannot run redlock-run: ${reads.stderr}`;
  return ['x64', 'arm64'].includes(process.arch) ? null : 'no number of prctl for this processor';
}
