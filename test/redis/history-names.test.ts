// The names that have a history on a master: those that changed last come first, page by page, as
// far as was asked for.

import { afterAll, expect, test } from 'vitest';
import { parseAddress } from '../../src/redis/address.ts';
import { defaultHistoryBytes } from '../../src/redis/calls/script-calls.ts';
import { isFailed } from '../../src/redis/errors.ts';
import { ServerRegistry } from '../../src/redis/identity.ts';
import { Server } from '../../src/redis/server.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { clock, handleOn, lasting, newClaim } from './rig.ts';

afterAll(async () => {
  await stopAll();
  nothingLeft();
});

const index = '{}:names:history';
const scoreOf = (ms: number) => Math.floor(ms / 1000) * 2 ** 21 + 5;

async function started() {
  const [master] = (await startMasters(1)) as [TestMaster];
  const settings = {
    prefix: '',
    restartGraceMs: 0,
    historyBytes: defaultHistoryBytes,
    protocol: 'redlock' as const,
  };
  const address = parseAddress(master.url);
  const observer = new Server(address, settings, new ServerRegistry(), clock, 'look');
  const page = async (cursor: string, count: number, sinceMs: number) => {
    const answer = await observer.historyPage(cursor, count, sinceMs);
    return isFailed(answer) ? answer.message : [answer.cursor, ...answer.resources];
  };
  return { master, page, close: () => observer.close() };
}

test('the end of a run counts as a change in the second in which the master took it', async () => {
  const { master, page, close } = await started();
  const claim = newClaim();
  const handle = handleOn(master);
  await handle.acquire(claim, lasting);
  await handle.release(claim, 0, '{}');
  const [seconds, micros] = ((await master.command('time')) as string[]).map(Number);
  const nowMs = (seconds ?? 0) * 1000 + (micros ?? 0) / 1000;
  expect(await page('0', 10, nowMs - 10_000)).toEqual(['0', ...claim.resources]);
  expect(await page('0', 10, nowMs + 1_000)).toEqual(['0']);
  close();
});

test('newest first, a page at a time, and no further than was asked for', async () => {
  const { master, page, close } = await started();
  for (const at of [1, 2, 3, 4]) await master.command('zadd', index, scoreOf(at * 1_000), `n${at}`);
  expect(await page('0', 2, 0)).toEqual(['2', 'n3', 'n4']);
  expect(await page('2', 2, 0)).toEqual(['4', 'n1', 'n2']);
  expect(await page('4', 2, 0)).toEqual(['0']);
  // Within the second, and after it.
  expect(await page('0', 3, 3_900)).toEqual(['0', 'n3', 'n4']);
  expect(await page('0', 3, 4_000)).toEqual(['0', 'n4']);
  // What is no time ends nothing.
  await master.command('zadd', index, 'inf', 'never');
  expect(await page('0', 2, 3_900)).toEqual(['2', 'n4', 'never']);
  close();
});
