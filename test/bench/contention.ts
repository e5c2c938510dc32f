// Many who want one lock at once, in one process: how long until all have had it, in which order, and what it costs the
// masters. Each contender has connections of his own, made before the clock starts. The floor is the work itself and two
// round trips a hand-over, measured beside each. The surprise: peers that poll are often not slow in time but in commands, so both are told.

import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { RedlockMutex } from 'redis-semaphore';
import PeerRedlock from 'redlock';
import { acquire } from '../../src/lock/acquire.ts';
import { alone } from '../../src/lock/ports.ts';
import { Redlock } from '../../src/lock/redlock.ts';
import { parseAddress } from '../../src/redis/address.ts';
import { Roster } from '../../src/redis/identity.ts';
import { RedisMaster } from '../../src/redis/redis-master.ts';
import { createSystemClock } from '../../src/system-clock.ts';

const workMs = 2;
const ttlMs = 30_000;
const counts = [1, 10, 50, 200];
/** So many at once take the peers minutes; we are tried alone. */
const crowd = 1_000;
const roundCount = 3;

/** Takes the lock, resolves with the function that gives it back. */
type Contender = { readonly take: () => Promise<() => Promise<unknown>>; readonly close: () => void };
type Peer = { readonly name: string; readonly join: (urls: readonly string[], index: number) => Promise<Contender> };

/** One drain of so many contenders, in units that can be compared. */
interface Drain {
  readonly timesFloor: number;
  readonly drainMs: number;
  readonly handOversMs: readonly number[];
  readonly inversionCount: number;
  readonly commands: number;
}

/** Each peer in turn, three times over, so that nobody has the only warm or the only busy moment; the medians are told. */
export async function contention(urls: readonly string[]): Promise<Record<string, object>> {
  const rows: Record<string, object> = {};
  const watch = urls.map((url) => new Redis({ path: parseAddress(url).path ?? '' }));
  const peers = [ours, redlock4, semaphore];
  for (const count of counts) {
    const drains = new Map<Peer, Drain[]>(peers.map((peer) => [peer, []]));
    for (let round = 0; round < roundCount; round += 1) {
      for (const peer of peers) drains.get(peer)?.push(await drainOnce(peer, urls, watch, count));
    }
    for (const [{ name }, all] of drains) rows[`${count} x ${name}`] = rowOf(all);
  }
  rows[`${crowd} x ${ours.name}`] = rowOf([await drainOnce(ours, urls, watch, crowd)]);
  for (const client of watch) client.disconnect();
  return rows;
}

async function drainOnce({ join }: Peer, urls: readonly string[], watch: readonly Redis[], count: number) {
  for (const client of watch) await client.flushall();
  const contenders = await Promise.all(Array.from({ length: count }, (_, index) => join(urls, index)));
  const before = await commandsOf(watch);
  const { drainMs, handOversMs, inversionCount } = await drain(contenders);
  const commands = ((await commandsOf(watch)) - before) / urls.length / count;
  for (const contender of contenders) contender.close();
  return { timesFloor: drainMs / (await floorOf(watch, count)), drainMs, handOversMs, inversionCount, commands };
}

function rowOf(drains: readonly Drain[]): object {
  const handOversMs = drains.flatMap((one) => one.handOversMs);
  return {
    'times the floor': quantile(
      drains.map(({ timesFloor }) => timesFloor),
      0.5,
    ),
    'drained in ms': quantile(
      drains.map(({ drainMs }) => drainMs),
      0.5,
    ),
    'hand-over p50 ms': quantile(handOversMs, 0.5),
    'p99 ms': quantile(handOversMs, 0.99),
    'out of order': drains.map(({ inversionCount }) => inversionCount).join(' '),
    'commands a master and hand-over': quantile(
      drains.map(({ commands }) => commands),
      0.5,
    ),
  };
}

/** The work itself, and a SET and a DEL answered by a quorum, one after the other: what no lock can do without. */
async function floorOf(clients: readonly Redis[], count: number): Promise<number> {
  const quorum = Math.floor(clients.length / 2) + 1;
  const ask = (send: (client: Redis) => Promise<unknown>) =>
    new Promise<void>((resolve) => {
      let answeredCount = 0;
      for (const client of clients) {
        send(client).then(() => {
          answeredCount += 1;
          if (answeredCount === quorum) resolve();
        });
      }
    });
  const startedAt = performance.now();
  for (let index = 0; index < count; index += 1) {
    await ask((client) => client.set('floor', 'us', 'PX', ttlMs, 'NX'));
    await work();
    await ask((client) => client.del('floor'));
  }
  return performance.now() - startedAt;
}

function work(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, workMs));
}

async function drain(contenders: readonly Contender[]) {
  const order: number[] = [];
  const handOversMs: number[] = [];
  let releasedAt: number | null = null;
  const startedAt = performance.now();
  const runs = contenders.map(async ({ take }, index) => {
    const giveBack = await take();
    if (releasedAt !== null) handOversMs.push(performance.now() - releasedAt);
    order.push(index);
    await work();
    releasedAt = performance.now();
    await giveBack();
  });
  await Promise.all(runs);
  const inversionCount = order.filter((index, place) => place > 0 && index < (order[place - 1] ?? 0)).length;
  return { drainMs: performance.now() - startedAt, handOversMs, inversionCount };
}

const ours: Peer = {
  name: 'redlock-run',
  join: async (urls) => {
    const clock = createSystemClock();
    const roster = new Roster();
    const settings = { prefix: '', restartGraceMs: 0 };
    const masters = urls.map((url) => new RedisMaster(parseAddress(url), settings, roster, clock));
    await Promise.all(masters.map((master) => master.introduce()));
    const redlock = new Redlock(masters, clock, { masterTimeoutMs: 1_500, reserveMs: 0 }, () => {});
    const newValue = () => randomBytes(20).toString('base64url');
    const newClaim = () => ({ ...alone, resources: ['ours'], value: newValue(), ttlMs, isFenced: true, waiter: null });
    const parts = { redlock, clock, random: Math.random, report: () => {}, newClaim, waiterId: newValue() };
    const patience = { waitMs: null, giveUpAfterMs: 10_000, aborted: new AbortController().signal };
    const take = async () => {
      const acquisition = await acquire(parts, patience);
      if (acquisition.kind !== 'acquired') throw new Error(acquisition.kind);
      return () => redlock.release(acquisition.lease.claim);
    };
    return { take, close: () => masters.forEach((master) => void master.close()) };
  },
};

const redlock4: Peer = {
  name: 'redlock 4.2.0',
  join: async (urls) => {
    const clients = await connected(urls);
    const peer = new PeerRedlock(clients as unknown as PeerRedlock.CompatibleRedisClient[], { retryCount: 100_000 });
    const take = async () => {
      const lock = await peer.lock('redlock4', ttlMs);
      return () => lock.unlock();
    };
    return { take, close: () => clients.forEach((client) => void client.disconnect()) };
  },
};

const semaphore: Peer = {
  name: 'redis-semaphore 5.8.0',
  join: async (urls) => {
    const clients = await connected(urls);
    const mutex = new RedlockMutex(clients, 'semaphore', {
      lockTimeout: ttlMs,
      refreshInterval: 0,
      acquireTimeout: 120_000,
    });
    const take = async () => {
      await mutex.acquire();
      return () => mutex.release();
    };
    return { take, close: () => clients.forEach((client) => void client.disconnect()) };
  },
};

async function connected(urls: readonly string[]): Promise<Redis[]> {
  const clients = urls.map((url) => new Redis({ path: parseAddress(url).path ?? '', protocol: 2 }));
  await Promise.all(clients.map((client) => client.ping()));
  return clients;
}

/** All commands that the masters have been sent by clients; those that scripts run are not counted twice. */
async function commandsOf(clients: readonly Redis[]): Promise<number> {
  const infos = await Promise.all(clients.map((client) => client.info('commandstats')));
  const sent = /^cmdstat_(?:eval|evalsha|set|subscribe|script\|load):calls=(\d+)/gm;
  const scripted = /^cmdstat_eval(?:sha)?:/m;
  return infos.reduce((sum, info) => {
    const calls = [...info.matchAll(sent)].filter(([row]) => !row.startsWith('cmdstat_set:') || !scripted.test(info));
    return sum + calls.reduce((count, [, number]) => count + Number(number), 0);
  }, 0);
}

function quantile(values: readonly number[], share: number): string {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]?.toFixed(2) ?? '-';
}
