// redlock-run's side of its guard, with guards that behave oddly. Real processes: what counts is
// what the system makes of them.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it, vi } from 'vitest';
import { GuardClient } from '../../../../src/run/guard/client.ts';
import {
  GuardProcess,
  type GuardProgram,
  type GuardSupply,
} from '../../../../src/run/guard/guard-process.ts';
import { loadLibc } from '../../../../src/run/processes/libc.ts';
import { childrenHere, reapOrphans } from '../../../../src/run/processes/own-children.ts';
import { childrenOf, processEntry } from '../../../../src/run/processes/process-table.ts';
import { createPlainClock, readingsNow } from '../../../../src/system/clock.ts';
import { generous } from '../../../servers/patience.ts';
import { scratchFolder } from '../../../servers/watchdog.ts';

const config = { stopSignal: 'SIGTERM', graceMs: 1, slackMs: 1 } as const;
const clock = createPlainClock();
/** Not a subreaper: the test runner has children of its own. */
const libc = { ...loadLibc(), becomeSubreaper: () => true };
const timeLeft = () => [9_000, 9_000] as const;
const trueCommand = {
  command: ['true'],
  environment: {},
  isForeground: false,
  hasNamespace: false,
};
const clients: GuardClient[] = [];
afterAll(() => Promise.all(clients.map((client) => client.done())));

function programOf(fixture: string): GuardProgram {
  const file = fileURLToPath(new URL(`fixtures/${fixture}.js`, import.meta.url));
  return { file: process.execPath, args: [file] };
}

/** A shell, which dies in time also where Node takes seconds to start. */
const dying: GuardProgram = { file: '/bin/sh', args: ['-c', 'sleep 0.02; exit 3'] };

function startGuard(
  guard: string | GuardProgram,
  readings = readingsNow,
  spare: GuardSupply['spare'] = null,
) {
  const log: string[] = [];
  const program = typeof guard === 'string' ? programOf(guard) : guard;
  const client = new GuardClient({
    supply: { program, spare },
    config,
    marginMs: 1_000,
    libc,
    clock,
    readingsNow: readings,
    onRestart: (how) => log.push(`restart: ${how}`),
    onStopping: () => log.push('stopping'),
    onLost: (how) => log.push(`lost: ${how}`),
  });
  clients.push(client);
  return { client, log };
}

it.concurrent('does not lose a guard that answers to a deadline late', async () => {
  const { client, log } = startGuard('good');
  expect(await client.confirm(timeLeft)).toBeNull();
  await client.start(trueCommand).started;
  client.setDeadlines(timeLeft);
  await sleep(1_500);
  expect(log).toEqual([]);
});

it.concurrent('reads the clocks before it computes how much time is left', async () => {
  const order: string[] = [];
  const { client } = startGuard('good', () => {
    order.push('clocks');
    return readingsNow();
  });
  const told = () => {
    order.push('time left');
    return timeLeft();
  };
  await client.confirm(told);
  expect(order.slice(-2)).toEqual(['clocks', 'time left']);
  client.start(trueCommand);
  client.setDeadlines(told);
  expect(order.slice(-2)).toEqual(['clocks', 'time left']);
});

it.concurrent('replaces a guard that does not confirm a deadline, then gives up', async () => {
  const { client, log } = startGuard('mute');
  expect(await client.confirm(timeLeft)).toBe('died of SIGKILL');
  expect(log).toEqual(Array(3).fill('restart: silent'));
});

it.concurrent('gives up on guards that never say anything', async () => {
  const { client, log } = startGuard('silent');
  expect(await client.confirm(timeLeft)).toBe('died of SIGKILL');
  expect(log).toEqual(Array(3).fill('restart: silent'));
});

it.concurrent('gives up on guards that die one after the other, and says how', async () => {
  const { client, log } = startGuard(dying);
  expect(await client.confirm(timeLeft)).toBe('ended with code 3');
  expect(log).toEqual(Array(3).fill('restart: died'));
});

it.concurrent('replaces guards without end that had served for long', async () => {
  const pids = join(scratchFolder(), 'pids');
  const { file, args } = programOf('good');
  const told = ['-c', 'echo $$ >>"$0"; exec "$@"', pids, file, ...args];
  let aheadMs = 0;
  const { client, log } = startGuard({ file: '/bin/sh', args: told }, () => {
    const readings = readingsNow();
    return { ...readings, monotonic: readings.monotonic + aheadMs };
  });
  for (let count = 1; count <= 4; count += 1) {
    expect(await client.confirm(timeLeft)).toBeNull();
    aheadMs += 11_000;
    process.kill(Number(readFileSync(pids, 'utf8').trim().split('\n').at(-1)));
    await vi.waitFor(
      () => expect(log).toEqual(Array(count).fill('restart: died')),
      generous(10_000),
    );
  }
});

it.concurrent('tells why when there never was one', async () => {
  const { client } = startGuard('there-is-none');
  expect(await client.confirm(timeLeft)).toBe('ended with code 1');
});

it('never reaps the guard that another bundle has started: Node tells of its death', async () => {
  vi.resetModules();
  const bundle = await import('../../../../src/run/guard/guard-process.ts');
  const spare = new bundle.GuardProcess(programOf('good'));
  startGuard('good', readingsNow, spare);
  const reaped: number[] = [];
  const reap = (pid: number) => {
    reaped.push(pid);
    return null;
  };
  reapOrphans({ ...libc, reap }, childrenHere(), undefined);
  expect(spare.child?.pid).toBeGreaterThan(0);
  expect(reaped).not.toContain(spare.child?.pid);
});

it.concurrent('tells the next guard the deadlines that a dead one has confirmed', async () => {
  const spare = new GuardProcess(programOf('good'));
  const { client, log } = startGuard('good', readingsNow, spare);
  expect(await client.confirm(timeLeft)).toBeNull();
  spare.kill();
  await vi.waitFor(() => expect(log).toEqual(['restart: died']), generous(10_000));
  expect(await client.start(trueCommand).started).toBeGreaterThan(0);
});

it.concurrent('takes another guard for one that does not confirm and does not end', async () => {
  const spare = new GuardProcess(programOf('mute'));
  const end = vi.spyOn(spare, 'kill').mockImplementation(() => {}); // As in a frozen cgroup.
  const { client, log } = startGuard('good', readingsNow, spare);
  expect(await client.confirm(timeLeft)).toBeNull();
  expect(log).toEqual(['restart: silent']);
  end.mockRestore();
  spare.kill();
});

it.concurrent('does not end a guard for being slow that has been sent the start', async () => {
  const spare = new GuardProcess(programOf('good'));
  const { client, log } = startGuard('mute', readingsNow, spare);
  expect(await client.confirm(timeLeft)).toBeNull();
  spare.kill();
  await vi.waitFor(() => expect(log).toEqual(['restart: died']), generous(10_000));
  let isOver = false;
  void client.start(trueCommand).exited.then(() => {
    isOver = true;
  });
  await sleep(5_000); // It was given four seconds to confirm the deadlines.
  expect([isOver, log]).toEqual([false, ['restart: died']]);
});

it.concurrent('has no guard left when it is done, and starts no other', async () => {
  const { client, log } = startGuard('good');
  await client.confirm(timeLeft);
  await client.done();
  await sleep(200);
  expect(log).toEqual([]);
});

it.concurrent('ends a command that no guard is left to start, without a wait', async () => {
  const { client, log } = startGuard(dying);
  await client.confirm(timeLeft);
  const child = client.start(trueCommand);
  expect(await child.started).toBeUndefined();
  const exit = { kind: 'never-started', reason: 'guard-lost' };
  expect(await child.exited).toMatchObject({ exit, leftCount: 0 });
  expect(log).toEqual(Array(3).fill('restart: died'));
});

/** A guard that has been sent its only start, and says these words to it. */
async function begun(...words: string[]) {
  const spare = new GuardProcess(programOf('scripted'));
  const parts = startGuard('there-is-none', readingsNow, spare);
  expect(await parts.client.confirm(timeLeft)).toBeNull();
  const child = parts.client.start({ ...trueCommand, command: words });
  return { ...parts, spare, child, pid: spare.id.pid };
}

/** Lets no event of this process be handled until the guard has ended. */
function standStillUntilEnded(spare: GuardProcess): void {
  const never = new Int32Array(new SharedArrayBuffer(4));
  while (spare.state !== 'Z') Atomics.wait(never, 0, 0, 5);
}

it.concurrent('reads what a dead guard has said, after a request that was not read', async () => {
  const { client, spare, child, log, pid } = await begun('now', 'pid', 'exited', 'dies');
  standStillUntilEnded(spare);
  client.setDeadlines(timeLeft); // Written into a pipe that no process reads: EPIPE.
  expect(await child.started).toBe(pid);
  expect(await child.exited).toMatchObject({ exit: { kind: 'exited', code: 5 }, leftCount: 0 });
  expect(log).toEqual([]);
});

it.concurrent('starts nothing again after a guard that died during the start', async () => {
  // Another process keeps its pipe open, as one does whose program has not begun yet.
  const { child, log } = await begun('now', 'keeps', 'dies');
  expect(await child.started).toBeUndefined();
  const exit = { kind: 'unknown-start', isAlive: false };
  expect(await child.exited).toMatchObject({ exit, leftCount: 0 });
  expect(log).toEqual([]);
});

it.concurrent('waits for a start that takes long', async () => {
  const { child, log, pid } = await begun('later', 'pid');
  await sleep(5_500); // Three looks, the first of them after two seconds.
  expect(log).toEqual([]);
  process.kill(pid, 'SIGUSR2');
  expect(await child.started).toBe(pid);
});

it.concurrent('ends what is below a guard that neither acts nor dies', async () => {
  const { child, spare, pid } = await begun('now', 'spawns', 'pid');
  await child.started;
  const [member = 0] = childrenOf(pid);
  expect(processEntry(member)?.isAlive).toBe(true);
  process.kill(pid, 'SIGSTOP');
  await vi.waitFor(() => expect(spare.state).toBe('T'), generous(10_000));
  const end = vi.spyOn(spare, 'kill').mockImplementation(() => {}); // As in a frozen cgroup.
  child.stop('SIGTERM');
  expect(await child.exited).toMatchObject({ exit: { kind: 'unknown-exit' }, leftCount: 0 });
  expect(processEntry(member)?.isAlive).toBe(false);
  expect(await child.kill()).toEqual([]);
  end.mockRestore();
});

it.concurrent('sends no stop signal in the place of a guard where SIGKILL is due', async () => {
  const { client, child, spare, pid } = await begun('now', 'spawns', 'pid');
  await child.started;
  const [member = 0] = childrenOf(pid);
  client.setDeadlines(() => [9_000, 0]);
  await vi.waitFor(() => expect(spare.unanswered).toBeNull(), generous(10_000));
  process.kill(pid, 'SIGSTOP');
  await vi.waitFor(() => expect(spare.state).toBe('T'), generous(10_000));
  const sent = vi.spyOn(process, 'kill');
  child.stop('SIGTERM');
  expect(await child.kill()).toEqual([]);
  const signals = sent.mock.calls.filter(([target]) => target === member).map(([, one]) => one);
  sent.mockRestore();
  expect(new Set(signals)).toEqual(new Set(['SIGKILL']));
  process.kill(pid, 'SIGKILL');
});

it.concurrent('ends the command of a guard that stands still', async () => {
  const { client, child, spare, pid, log } = await begun('now', 'spawns', 'pid');
  await child.started;
  const [member = 0] = childrenOf(pid);
  process.kill(pid, 'SIGSTOP');
  client.setDeadlines(timeLeft);
  client.setDeadlines(timeLeft); // The first is not answered.
  await vi.waitFor(() => expect(log).toEqual(['lost: silent']), generous(10_000));
  expect(spare.state).toBe('Z');
  expect(await child.exited).toMatchObject({ exit: { kind: 'unknown-exit' } });
  await child.kill();
  process.kill(member, 'SIGKILL'); // Here no subreaper has inherited it.
});
