// redlock-run's side of its guard, with guards that behave oddly. Real processes: what counts is
// what the system makes of them.

import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { GuardClient } from '../../../../src/run/guard/client.ts';
import { loadLibc } from '../../../../src/run/processes/libc.ts';
import { readingsNow } from '../../../../src/system/clock.ts';

const config = { stopSignal: 'SIGTERM', graceMs: 1, slackMs: 1, isForeground: false } as const;
/** Not a subreaper: the test runner has children of its own. */
const libc = { ...loadLibc(), becomeSubreaper: () => true };
const clients: GuardClient[] = [];
afterAll(() => Promise.all(clients.map((client) => client.done())));

function startGuard(fixture: string) {
  const program = fileURLToPath(new URL(`fixtures/${fixture}.js`, import.meta.url));
  const log: string[] = [];
  const client = new GuardClient({
    supply: { program: { file: process.execPath, words: [program] }, spare: null },
    config,
    killAnswerMs: 100,
    libc,
    readingsNow,
    onRestart: () => log.push('restart'),
    onStopping: () => log.push('stopping'),
    onFailure: () => log.push('failure'),
  });
  clients.push(client);
  return { client, log };
}

it.concurrent('does not replace a guard that answers to deadline after deadline', async () => {
  const { client, log } = startGuard('good');
  expect(await client.confirm(9_000, 9_000)).toBeNull();
  await sleep(1_900);
  client.setDeadlines(9_000, 9_000); // Not answered when the answer to the first one is due.
  await sleep(1_500);
  expect(log).toEqual([]);
});

it.concurrent('replaces a guard that does not confirm a deadline, then gives up', async () => {
  const { client, log } = startGuard('mute');
  expect(await client.confirm(9_000, 9_000)).toBe('died of SIGKILL');
  expect(log).toEqual(['restart', 'restart', 'restart']);
});

it.concurrent('gives up on guards that never say anything', async () => {
  const { client, log } = startGuard('silent');
  expect(await client.confirm(9_000, 9_000)).toBe('died of SIGKILL');
  expect(log).toEqual(['restart', 'restart', 'restart']);
}, 60_000);

it.concurrent('gives up on guards that die one after the other, and says how', async () => {
  const { client, log } = startGuard('dying');
  expect(await client.confirm(9_000, 9_000)).toBe('ended with code 3');
  expect(log).toEqual(['restart', 'restart', 'restart']);
});

it.concurrent('tells why when there never was one', async () => {
  const { client } = startGuard('there-is-none');
  expect(await client.confirm(9_000, 9_000)).toBe('ended with code 1');
});

it.concurrent('has no guard left when it is done, and starts no other', async () => {
  const { client, log } = startGuard('good');
  await client.confirm(9_000, 9_000);
  await client.done();
  await sleep(200);
  expect(log).toEqual([]);
});

it.concurrent('ends a command that no guard is left to start, without a wait', async () => {
  const { client, log } = startGuard('dying');
  await client.confirm(9_000, 9_000);
  const plan = { command: ['true'], environment: {}, isForeground: false, hasNamespace: false };
  const child = client.start(plan);
  expect(await child.started).toBeUndefined();
  expect((await child.exited).leftCount).toBe(0);
  expect(log.at(-1)).toBe('failure');
});
