// The contestants of the contention: redlock-run and the npm peers, each with connections of its
// own, made beforehand, and with no limit of waiting; otherwise with their defaults. *Note:*
// `redlock-universal` limits its attempts, all at the same moments, so some contenders may give up
// before they are ever alone.

import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { Redis } from 'ioredis';
import { RedlockMutex } from 'redis-semaphore';
import PeerRedlock from 'redlock';
import { defaultDriftFactor } from '../../../src/lock/quorum.ts';
import { Redlock } from '../../../src/lock/redlock.ts';
import { alone } from '../../../src/lock/types.ts';
import { waitForLock } from '../../../src/lock/wait.ts';
import { parseAddress } from '../../../src/redis/address.ts';
import { defaultHistoryBytes } from '../../../src/redis/calls/script-calls.ts';
import { ServerRegistry } from '../../../src/redis/identity.ts';
import { Server } from '../../../src/redis/server.ts';
import { createPlainClock } from '../../../src/system/clock.ts';
import { npmFolder, versions } from './cache.ts';

/**
 * Takes the lock and resolves with the function that releases it; rejects when the contender has
 * given up.
 */
export type Contender = {
  readonly take: () => Promise<() => Promise<unknown>>;
  readonly close: () => void;
};
export type Peer = {
  readonly name: string;
  /** How it sends a request to a master: as a command of its own, or as a script. */
  readonly asksBy: 'SET' | 'script';
  readonly join: (urls: readonly string[], index: number) => Promise<Contender>;
};

export const ttlMs = 30_000;
/** The limit for those that count attempts 200 ms apart. */
const waitLimitMs = 60_000;

export const ours: Peer = {
  name: 'redlock-run',
  asksBy: 'script',
  join: async (urls) => {
    const clock = createPlainClock();
    const registry = new ServerRegistry();
    const settings = {
      prefix: '',
      restartGraceMs: 0,
      historyBytes: defaultHistoryBytes,
      protocol: 'redlock' as const,
    };
    const masters = urls.map(
      (url) => new Server(parseAddress(url), settings, registry, clock, 'lock'),
    );
    await Promise.all(masters.map((master) => master.identify()));
    const timings = { masterTimeoutMs: 1_500, reserveMs: 0, driftFactor: defaultDriftFactor };
    const redlock = new Redlock(masters, clock, timings, () => {});
    const newValue = () => randomBytes(20).toString('base64url');
    const newClaim = () => ({
      ...alone,
      resources: ['ours'],
      token: '',
      value: newValue(),
      ttlMs,
      isFenced: true,
      waiter: null,
    });
    const request = {
      redlock,
      clock,
      random: Math.random,
      report: () => {},
      newClaim,
      waiterId: newValue(),
      waitMs: null,
      giveUpAfterMs: 10_000,
      aborted: new AbortController().signal,
    };
    const take = async () => {
      const acquisition = await waitForLock(request);
      if (acquisition.kind !== 'acquired') throw new Error(acquisition.kind);
      return () => redlock.release(acquisition.lease.claim, 0, null);
    };
    return { take, close: () => masters.forEach((master) => void master.close()) };
  },
};

export const redlock4: Peer = {
  name: 'redlock 4.2.0',
  asksBy: 'script',
  join: async (urls) => {
    const clients = await connected(urls);
    const peer = new PeerRedlock(clients as unknown as PeerRedlock.CompatibleRedisClient[], {
      retryCount: 100_000,
    });
    const take = async () => {
      const lock = await peer.lock('redlock4', ttlMs);
      return () => lock.unlock();
    };
    return { take, close: () => clients.forEach((client) => void client.disconnect()) };
  },
};

export const semaphore: Peer = {
  name: 'redis-semaphore 5.8.0',
  asksBy: 'script',
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

type Universal = { acquire(): Promise<unknown>; release(handle: unknown): Promise<unknown> };
type UniversalPackage = {
  createRedlock: (options: object) => Universal;
  IoredisAdapter: new (client: Redis) => unknown;
};

/** null where it cannot be installed. */
export function universal(): Peer | null {
  const folder = npmFolder();
  if (folder === null) return null;
  const name = 'redlock-universal';
  const { createRedlock, IoredisAdapter } = createRequire(`${folder}/package.json`)(
    name,
  ) as UniversalPackage;
  const join: Peer['join'] = async (urls) => {
    const clients = await connected(urls);
    const adapters = clients.map((client) => new IoredisAdapter(client));
    const lock = createRedlock({
      adapters,
      key: 'universal',
      ttl: ttlMs,
      retryAttempts: waitLimitMs / 200,
    });
    const take = async () => {
      const handle = await lock.acquire();
      return () => lock.release(handle);
    };
    return { take, close: () => clients.forEach((client) => void client.disconnect()) };
  };
  return { name: `${name} ${versions[name]}`, asksBy: 'SET', join };
}

async function connected(urls: readonly string[]): Promise<Redis[]> {
  const clients = urls.map((url) => new Redis({ path: parseAddress(url).path ?? '', protocol: 2 }));
  await Promise.all(clients.map((client) => client.ping()));
  return clients;
}
