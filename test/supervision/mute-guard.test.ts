// A guard that is suspended: before it is ready it delays nothing for long, and one that has been
// silent since the wait for the lock is replaced before the command starts.

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { eventually, isAlive } from '../servers/processes.ts';
import { Succession } from './next-holder.ts';
import { guardsOf, pass, sharedMasters } from './rig.ts';

/** Two seconds for an answer, several guards in sequence, and a slow machine. */
const boundMs = 40_000;

describe.concurrent('a guard that is mute from its first moment', () => {
  it.each([
    ['-n, its first guard', ['-n'], 1],
    ['-n, every guard', ['-n'], Number.POSITIVE_INFINITY],
    ['-w 2s, its first guard', ['-w', '2s'], 1],
    ['-w 2s, every guard', ['-w', '2s'], Number.POSITIVE_INFINITY],
  ])('%s: 69, or the command begins under another one', async (_title, flags, most) => {
    const command = () => ['sh', '-c', 'echo began; sleep 2'];
    const options = { flags: ['--ttl', '8s', ...flags], timeoutMs: boundMs };
    const run = new Succession(await sharedMasters(), command, options);
    const stopped = await stopGuards(run, most);
    const { code, stdout, stderr } = await run.result;
    // Without a live guard the run gives up before the command starts, or the command is stopped.
    expect(stdout === '' ? [69, 79] : [0, 79], stderr).toContain(code);
    expect(await run.keyCount()).toBe(0);
    expect(stopped.length).toBeGreaterThan(0);
    await eventually('no guard is left', () => !stopped.some(isAlive));
  });

  it('TERM ends the wait for it, and the lock is free', async () => {
    const command = () => ['sleep', '120'];
    const options = { flags: ['--ttl', '8s', '-w', '60s'], timeoutMs: boundMs };
    const run = new Succession(await sharedMasters(), command, options);
    const stopping = stopGuards(run, Number.POSITIVE_INFINITY);
    await eventually('it has the lock', async () => (await run.keyCount()) >= 2, boundMs);
    await pass(300); // Until it waits for nothing but its guard.
    run.first.signal('SIGTERM');
    expect(await run.result).toMatchObject({ signal: 'SIGTERM' });
    expect(await run.keyCount()).toBe(0);
    await stopping;
  });
});

describe.concurrent('a guard that was stopped while its run waited', () => {
  it('does not leave the command behind when redlock-run is killed soon after', async () => {
    const masters = await sharedMasters();
    const name = randomBytes(6).toString('hex');
    const key = `redlock:${name}`;
    for (const master of masters) await master.command('set', key, 'them', 'px', 60_000);
    const command = (mark: string) => ['sh', '-c', 'echo ready; sleep 120; :', mark];
    const run = new Succession(masters, command, { name });
    await run.isQueued();
    await pass(1_000); // It has long said that it is ready.
    process.kill(await run.guard(), 'SIGSTOP');
    for (const master of masters) await master.command('del', key);
    await run.first.says('stdout', /ready/, 30_000);
    await pass(300);
    run.first.signal('SIGKILL');
    await run.awaited();
    expect(await run.nextSees()).toBe('');
  });
});

/** Stops the guards of a run as soon as they exist, until the run has ended; returns their pids. */
async function stopGuards(run: Succession, most: number): Promise<number[]> {
  const { first, guards } = run;
  const stopped = new Set<number>();
  const isOver = () => first.child.exitCode !== null || first.child.signalCode !== null;
  while (!isOver() && stopped.size < most) {
    for (const pid of guardsOf(first.pid).filter((pid) => !stopped.has(pid))) {
      process.kill(pid, 'SIGSTOP');
      stopped.add(pid);
      guards.add(pid);
    }
    await sleep(1); // A guard takes thirty times as long before it can say a word.
  }
  return [...stopped];
}
