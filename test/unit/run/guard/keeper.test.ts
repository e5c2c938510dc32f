// redlock-run's side of its guard, with guards that behave oddly. Real processes: what counts is what the system makes of them.

import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { GuardKeeper } from '../../../../src/run/guard/keeper.ts';
import { readingsNow } from '../../../../src/system-clock.ts';

const orders = { runId: 'x', pid: process.pid, stopSignal: 'SIGTERM', graceMs: 1, slackMs: 1 } as const;
const keepers: GuardKeeper[] = [];
afterAll(() => Promise.all(keepers.map((keeper) => keeper.done())));

function keep(fixture: string) {
  const program = fileURLToPath(new URL(`fixtures/${fixture}.js`, import.meta.url));
  const log: string[] = [];
  const keeper = new GuardKeeper({
    supply: { program: { file: process.execPath, words: [program] }, spare: null },
    orders,
    readingsNow,
    onRestart: () => log.push('restart'),
    onStopping: () => log.push('stopping'),
    onFailure: () => log.push('failure'),
  });
  keepers.push(keeper);
  return { keeper, log };
}

it.concurrent('leaves a guard alone that answers, also when one deadline follows another after two seconds', async () => {
  const { keeper, log } = keep('good');
  expect(await keeper.ready()).toBeNull();
  keeper.arm(9_000, 9_000);
  await sleep(1_900);
  keeper.arm(9_000, 9_000); // Not answered yet when the answer to the first one is looked for.
  await sleep(1_500);
  expect(log).toEqual([]);
});

it.concurrent('replaces a guard that does not answer within two seconds', async () => {
  const { keeper, log } = keep('mute');
  await keeper.ready();
  keeper.arm(9_000, 9_000);
  await sleep(1_700);
  expect(log).toEqual([]);
  await sleep(1_300);
  expect(log).toEqual(['restart']);
});

it.concurrent('gives up on guards that die one after the other, and says how they ended', async () => {
  const { keeper, log } = keep('dying');
  await expect.poll(() => log.length, { timeout: 5_000 }).toBe(4);
  expect(log).toEqual(['restart', 'restart', 'restart', 'failure']);
  expect(await keeper.ready()).toBe('ended with code 3');
});

it.concurrent('tells why when there never was one', async () => {
  const { keeper, log } = keep('there-is-none');
  expect(await keeper.ready()).toBe('ended with code 1');
  expect(log.at(-1)).toBe('failure');
});

it.concurrent('has no guard left when it is done, and starts no other', async () => {
  const { keeper, log } = keep('mute');
  await keeper.ready();
  await keeper.done();
  await sleep(200);
  expect(log).toEqual([]);
});
