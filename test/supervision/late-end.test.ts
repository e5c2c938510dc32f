// An end after the lease has run out is exit 79, whatever the command returned. Here it is late
// because redlock-run and its guard were stopped together.

import { describe, expect, it } from 'vitest';
import { eventually } from '../servers/processes.ts';
import { Succession } from './next-holder.ts';
import { sharedMasters } from './rig.ts';

const flags = ['--ttl', '9s', '-k', '3s'];
/** Both say "ready", and end with code 3 when their stdin ends. */
const obeys = 'echo ready; read -r line; exit 3';
const deaf = `trap '' TERM; echo ready; exec >/dev/null 2>&1; while :; do sleep 1; done`;
const leavesBehind = `(${deaf}) & read -r line; exit 3`;

describe.concurrent('an end after validity is exit 79', () => {
  it('of the command itself', async () => {
    const run = new Succession(await sharedMasters(), command(obeys), { flags, stdin: 'pipe' });
    await run.first.says('stdout', /ready/, 30_000);
    const both = await stopBoth(run);
    await isFree(run);
    run.first.child.stdin?.end();
    await eventually('the command has ended', () => run.left().length === 0);
    goOn(both);
    expect(await run.result).toMatchObject({ code: 79, stderr: expect.stringContaining('lost:') });
  });

  it('of what it left behind', async () => {
    const run = new Succession(await sharedMasters(), command(leavesBehind), {
      flags,
      stdin: 'pipe',
    });
    await run.first.says('stdout', /ready/, 30_000);
    run.first.child.stdin?.end();
    await run.first.says('stderr', /the command left \d+ process(es)? behind/);
    const both = await stopBoth(run);
    expect(run.left().length, 'what it left behind is there').toBeGreaterThan(0);
    await isFree(run);
    goOn(both);
    expect(await run.result).toMatchObject({ code: 79, stderr: expect.stringContaining('lost:') });
    expect(run.left()).toEqual([]);
  });
});

function command(script: string): (mark: string) => readonly string[] {
  return (mark) => ['sh', '-c', script, mark];
}

async function stopBoth(run: Succession): Promise<readonly number[]> {
  const both = [run.first.pid, await run.guard()];
  for (const pid of both) process.kill(pid, 'SIGSTOP');
  return both;
}

/** The guard first: redlock-run reaps one that has ended meanwhile as soon as it goes on. */
function goOn(pids: readonly number[]): void {
  for (const pid of pids.toReversed()) process.kill(pid, 'SIGCONT');
}

async function isFree(run: Succession): Promise<void> {
  await eventually('the key has expired', async () => (await run.keyCount()) === 0, 20_000);
}
