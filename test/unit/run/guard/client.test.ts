// redlock-run's side of its guard, with guards that behave oddly. Real processes: what counts is
// what the system makes of them.

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
import { reapOrphans } from '../../../../src/run/processes/own-children.ts';
import { readingsNow } from '../../../../src/system/clock.ts';

const config = { stopSignal: 'SIGTERM', graceMs: 1, slackMs: 1, isForeground: false } as const;
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

function startGuard(fixture: string, readings = readingsNow, spare: GuardSupply['spare'] = null) {
  const log: string[] = [];
  const client = new GuardClient({
    supply: { program: programOf(fixture), spare },
    config,
    killAnswerMs: 100,
    libc,
    readingsNow: readings,
    onRestart: () => log.push('restart'),
    onStopping: () => log.push('stopping'),
    onFailure: () => log.push('failure'),
  });
  clients.push(client);
  return { client, log };
}

it.concurrent('does not replace a guard that answers to deadline after deadline', async () => {
  const { client, log } = startGuard('good');
  expect(await client.confirm(timeLeft)).toBeNull();
  await sleep(1_900);
  client.setDeadlines(timeLeft); // Not answered when the answer to the first one is due.
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
  client.setDeadlines(told);
  expect(order.slice(-2)).toEqual(['clocks', 'time left']);
});

it.concurrent('replaces a guard that does not confirm a deadline, then gives up', async () => {
  const { client, log } = startGuard('mute');
  expect(await client.confirm(timeLeft)).toBe('died of SIGKILL');
  expect(log).toEqual(['restart', 'restart', 'restart']);
});

it.concurrent('gives up on guards that never say anything', async () => {
  const { client, log } = startGuard('silent');
  expect(await client.confirm(timeLeft)).toBe('died of SIGKILL');
  expect(log).toEqual(['restart', 'restart', 'restart']);
}, 60_000);

it.concurrent('gives up on guards that die one after the other, and says how', async () => {
  const { client, log } = startGuard('dying');
  expect(await client.confirm(timeLeft)).toBe('ended with code 3');
  expect(log).toEqual(['restart', 'restart', 'restart']);
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
  reapOrphans({ ...libc, reap }, undefined);
  expect(spare.child?.pid).toBeGreaterThan(0);
  expect(reaped).not.toContain(spare.child?.pid);
});

it.concurrent('tells the next guard the deadlines that a dead one has confirmed', async () => {
  const spare = new GuardProcess(programOf('strict'));
  const { client, log } = startGuard('strict', readingsNow, spare);
  expect(await client.confirm(timeLeft)).toBeNull();
  spare.kill();
  await vi.waitFor(() => expect(log).toEqual(['restart']));
  expect(await client.start(trueCommand).started).toBeGreaterThan(0);
});

it.concurrent('has no guard left when it is done, and starts no other', async () => {
  const { client, log } = startGuard('good');
  await client.confirm(timeLeft);
  await client.done();
  await sleep(200);
  expect(log).toEqual([]);
});

it.concurrent('ends a command that no guard is left to start, without a wait', async () => {
  const { client, log } = startGuard('dying');
  await client.confirm(timeLeft);
  const child = client.start(trueCommand);
  expect(await child.started).toBeUndefined();
  const exit = { kind: 'never-started', reason: 'guard-lost' };
  expect(await child.exited).toMatchObject({ exit, leftCount: 0 });
  expect(log).toEqual(['restart', 'restart', 'restart']);
});
