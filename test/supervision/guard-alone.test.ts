// The guard by itself, with a test in the place of redlock-run: a stop request that is read too
// late is dropped, and redlock-run sends the signal in its place, or dies before it has; and one
// that leaves no time for a signal.

import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { GuardProcess } from '../../src/run/guard/guard-process.ts';
import { type FromGuard, requestDescriptor } from '../../src/run/guard/protocol.ts';
import { readingsNow } from '../../src/system/clock.ts';
import { hasPerl } from '../servers/perl.ts';
import { scratchFolder } from '../servers/watchdog.ts';

const withPerl = it.skipIf(!hasPerl);
const program = {
  file: process.execPath,
  args: [fileURLToPath(new URL('../../dist/guard.js', import.meta.url))],
};
const asks = '$SIG{TERM} = sub { print STDERR "told\n" }; print STDERR "ready\n"; sleep 60 while 1';

/** Of a guard whose command has begun. */
async function hasBegun(name: string, onMessage: (message: FromGuard) => void = () => {}) {
  const output = join(scratchFolder(), name);
  const guard = new GuardProcess(program);
  onTestFinished(() => guard.kill());
  guard.onMessage(onMessage);
  const config = { stopSignal: 'SIGTERM', graceMs: 500, slackMs: 0 } as const;
  expect(await guard.ask({ kind: 'configure', config })).not.toHaveProperty('failure');
  const readings = readingsNow();
  await guard.ask({ kind: 'deadlines', readings, stopInMs: 60_000, killInMs: 60_000 });
  const command = ['sh', '-c', `exec perl -e '${asks}' 2> ${output}`];
  const environment = { ...process.env, LC_ALL: 'C' }; // Perl warns of a locale that is not there.
  const plan = { command, environment, isForeground: false, hasNamespace: false };
  const started = await guard.ask({ kind: 'start', plan });
  const said = () => readFileSync(output, 'utf8');
  await expect.poll(said).toBe('ready\n');
  return { guard, said, pid: started?.pid ?? 0 };
}

/** Of a guard whose command has begun, and that has dropped a stop request. */
async function hasDropped(name: string) {
  const begun = await hasBegun(name);
  const until = { readings: readingsNow(), withinMs: 0 };
  expect(await begun.guard.ask({ kind: 'stop', signal: 'SIGTERM', until })).toMatchObject({
    isDropped: true,
  });
  return begun;
}

withPerl('sends the signal itself where redlock-run dies before it has sent it', async () => {
  const { guard, said } = await hasDropped('dropped');
  (guard.child as ChildProcess).stdio[requestDescriptor]?.destroy();
  expect(await guard.ended).toBe('ended with code 0');
  expect(said()).toBe('ready\ntold\n');
});

withPerl('does not send it again where redlock-run has sent it', async () => {
  const { guard, said, pid } = await hasDropped('sent');
  process.kill(-pid, 'SIGTERM');
  await expect.poll(said).toBe('ready\ntold\n');
  await guard.ask({ kind: 'stopped' });
  (guard.child as ChildProcess).stdio[requestDescriptor]?.destroy();
  expect(await guard.ended).toBe('ended with code 0');
  expect(said()).toBe('ready\ntold\n');
});

withPerl(
  'kills at once where the lock ends before all processes could be sent the signal',
  async () => {
    const told: FromGuard[] = [];
    const { guard, said } = await hasBegun('no-time', (message) => told.push(message));
    const readings = readingsNow();
    await guard.ask({ kind: 'deadlines', readings, stopInMs: 60_000, killInMs: 0 });
    const until = { readings, withinMs: 60_000 };
    await guard.ask({ kind: 'stop', signal: 'SIGTERM', until });
    const exit = { kind: 'signaled', signal: 'SIGKILL' };
    await expect.poll(() => told).toMatchObject([{ kind: 'exited', exit }]);
    expect(said()).toBe('ready\n');
  },
);
