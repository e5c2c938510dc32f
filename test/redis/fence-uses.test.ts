// The two uses that docs/fencing.md works out, run: a holder freezes, its lock expires, the next
// one writes, the first wakes up and must be refused. The database is a real SQLite; the object
// store is a small server of ours that keeps to HTTP's own conditional requests (RFC 9110,
// If-Match), as object stores do.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import initSqlJs from 'sql.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { lasting, locksOn, newClaim, redlockOn } from './rig.ts';

let masters: TestMaster[] = [];

beforeAll(async () => {
  masters = await startMasters(3);
});

afterAll(async () => {
  await stopAll();
  nothingLeft();
});

/** The fences of a holder that froze until its lock had expired, and of the next one. */
async function twoHolders(resource: string): Promise<{ frozen: number; next: number }> {
  const first = await redlockOn(masters).redlock.attempt(
    newClaim({ resources: [resource], ttlMs: 1_000 }),
    lasting,
  );
  await eventually('the first lock has expired', async () => {
    const left = await Promise.all(masters.map(locksOn));
    return left.every((keys) => !keys.includes(resource));
  });
  const second = await redlockOn(masters).redlock.attempt(
    newClaim({ resources: [resource] }),
    lasting,
  );
  if (first.kind !== 'acquired' || second.kind !== 'acquired')
    throw new Error('both acquire a free lock');
  return { frozen: first.lease.fence ?? 0, next: second.lease.fence ?? 0 };
}

it('a conditional UPDATE refuses a holder that wakes up late', async () => {
  const { frozen, next } = await twoHolders('inventory');
  const { Database } = await initSqlJs();
  const database = new Database();
  database.run('CREATE TABLE inventory (item TEXT PRIMARY KEY, stock INTEGER, fence INTEGER)');
  database.run("INSERT INTO inventory VALUES ('bolt', 40, 0)");
  const update = (stock: number, fence: number) => {
    const statement =
      "UPDATE inventory SET stock = ?, fence = ? WHERE item = 'bolt' AND fence <= ?";
    database.run(statement, [stock, fence, fence]);
    return database.getRowsModified();
  };
  expect([update(41, next), update(42, next), update(7, frozen)]).toEqual([1, 1, 0]);
  expect(database.exec('SELECT stock FROM inventory')[0]?.values).toEqual([[42]]);
});

it('a conditional put refuses a holder that wakes up late, also after its look', async () => {
  const { frozen, next } = await twoHolders('object');
  const store = await startStore();
  try {
    const lookOfTheFrozen = await store.look();
    expect(await store.put('new', next, await store.look())).toBe(204);
    expect(await store.put('old', frozen, lookOfTheFrozen)).toBe(412);
    const { fence } = await store.look();
    expect(frozen).toBeLessThan(fence);
    expect(await store.read()).toBe('new');
  } finally {
    store.close();
  }
});

async function startStore() {
  let object = { body: 'first', fence: '0', version: 1 };
  const server = createServer((request, response) => {
    const etag = `"${object.version}"`;
    if (request.method !== 'PUT')
      return response.writeHead(200, { etag, fence: object.fence }).end(object.body);
    if (request.headers['if-match'] !== etag) return response.writeHead(412).end();
    request.setEncoding('utf8').on('data', (body: string) => {
      object = { body, fence: String(request.headers.fence), version: object.version + 1 };
      response.writeHead(204).end();
    });
    return response;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/object`;
  const look = async () => {
    const { headers } = await fetch(url, { method: 'HEAD' });
    return { etag: headers.get('etag') ?? '', fence: Number(headers.get('fence')) };
  };
  const put = async (body: string, fence: number, seen: { etag: string; fence: number }) => {
    if (seen.fence > fence) return 'refused by the metadata';
    const headers = { 'if-match': seen.etag, fence: String(fence) };
    return (await fetch(url, { method: 'PUT', body, headers })).status;
  };
  return { look, put, read: async () => (await fetch(url)).text(), close: () => server.close() };
}
