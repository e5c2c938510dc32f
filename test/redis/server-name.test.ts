// What TLS tells a server about the name it is called by (SNI): routers choose a server and its
// certificate by that name. Of commands, messages and sentinels.

import { readFileSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { parseAddress } from '../../src/redis/address.ts';
import { bulk, list, startHostile } from '../servers/hostile-master.ts';
import { nothingLeft, startMasters, stopAll } from '../servers/masters.ts';
import { pemFile } from '../servers/pem.ts';
import { tlsFront } from '../servers/tls.ts';
import { handleOn, lasting, newClaim } from './rig.ts';

afterAll(async () => {
  await stopAll();
  nothingLeft();
});

const ca = readFileSync(pemFile('ca.pem'), 'utf8');
const pathOf = ({ url }: { readonly url: string }) => url.replace('unix://', '');

/** Acquires and subscribes. Returns what came of both. */
async function use(url: string, servername?: string) {
  const tls = { ca, ...(servername === undefined ? {} : { servername }) };
  const handle = handleOn({ ...parseAddress(url), tls });
  const claim = newClaim();
  const vote = await handle.acquire(claim, lasting);
  const listening = await handle.subscribe(claim.resources, 'waiter', () => {});
  return [vote.kind, 'close' in listening ? 'listens' : listening.message];
}

test.each<[string, string, string | undefined, string | false]>([
  ['a host', 'localhost', undefined, 'localhost'],
  ['a host in capitals', 'LocalHost', undefined, 'localhost'],
  ['an address', '127.0.0.1', undefined, false],
  ['a configured name', '127.0.0.1', 'localhost', 'localhost'],
  ['a configured name with the dot of the root', '127.0.0.1', 'localhost.', 'localhost'],
  ['a configured address', 'localhost', '127.0.0.1', false],
])('%s', async (_, host, servername, sent) => {
  const [master] = await startMasters(1);
  const names: (string | false)[] = [];
  const port = await tlsFront(pathOf(master as { url: string }), { names });
  const result = await use(`rediss://${host}:${port}`, servername);
  expect(result).toEqual(['granted', 'listens']);
  expect(names).toEqual([sent, sent]);
});

test('a short form of an address is no name', async () => {
  const [master] = await startMasters(1);
  const names: (string | false)[] = [];
  const port = await tlsFront(pathOf(master as { url: string }), { names });
  expect(await use(`rediss://127.1:${port}`, '127.0.0.1')).toEqual(['granted', 'listens']);
  const [vote] = await use(`rediss://127.1:${port}`);
  expect(vote).toBe('failed');
  expect(new Set(names)).toEqual(new Set([false]));
});

test('sentinels, and the primary that they name', async () => {
  const [master] = await startMasters(1);
  const atPrimary: (string | false)[] = [];
  const atSentinel: (string | false)[] = [];
  const router = { isRouter: true };
  const port = await tlsFront(pathOf(master as { url: string }), { names: atPrimary, ...router });
  const sentinel = await startHostile(() => list(bulk('localhost'), bulk(String(port))));
  const sentinelPort = await tlsFront(pathOf(sentinel), { names: atSentinel, ...router });
  const url = `rediss+sentinel://localhost:${sentinelPort}/m`;
  expect(await use(url)).toEqual(['granted', 'listens']);
  expect([atSentinel, atPrimary]).toEqual([
    ['localhost', 'localhost'],
    ['localhost', 'localhost'],
  ]);
});
