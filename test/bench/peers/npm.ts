// The npm peers, each as a function that makes one cycle, acquire and release, on open connections.
// All get the ioredis of redlock-run, one attempt, and its time-out for each call: without that,
// redlock 4.2.0 would wait for a frozen master for ever. Their packages come from the cache of the
// benchmark.

import { createRequire } from 'node:module';
import type { Redis } from 'ioredis';

export type Cycle = () => Promise<unknown>;

export const ttlMs = 30_000;
export const callTimeoutMs = 1_500;

type Lock = { unlock(): Promise<void>; release(): Promise<unknown> };
type Locks = {
  lock(key: string, ttlMs: number): Promise<Lock>;
  acquire(keys: string[], ttlMs: number): Promise<Lock>;
};
type Mutex = { acquire(): Promise<unknown>; release(handle?: unknown): Promise<unknown> };
type Factory = new (...parts: unknown[]) => unknown;

/** `folder` has the packages in its node_modules. */
export function npmPeer(name: string, folder: string, urls: readonly string[]): Cycle {
  const load = createRequire(`${folder}/package.json`);
  const { Redis: Client } = load('ioredis') as { Redis: new (options: object) => Redis };
  const clients = urls.map((url) => {
    const client = new Client({ path: url.replace('unix://', ''), commandTimeout: callTimeoutMs });
    return client.on('error', () => {});
  });
  switch (name) {
    case 'redlock': {
      const locks = new (load('redlock') as Factory)(clients, { retryCount: 0 }) as Locks;
      return async () => (await locks.lock(name, ttlMs)).unlock();
    }
    case '@sesamecare-oss/redlock': {
      const { Redlock } = load(name) as { Redlock: Factory };
      const locks = new Redlock(clients, { retryCount: 0 }) as Locks;
      return async () => (await locks.acquire([name], ttlMs)).release();
    }
    case 'redlock-universal': {
      const { createRedlock, IoredisAdapter } = load(name) as {
        createRedlock: (options: object) => Mutex;
        IoredisAdapter: new (client: Redis) => unknown;
      };
      const adapters = clients.map((client) => new IoredisAdapter(client));
      const mutex = createRedlock({ adapters, key: name, ttl: ttlMs, retryAttempts: 0 });
      return async () => mutex.release(await mutex.acquire());
    }
    case 'redis-semaphore': {
      const { RedlockMutex } = load(name) as { RedlockMutex: Factory };
      const habits = { lockTimeout: ttlMs, acquireAttemptsLimit: 1, refreshInterval: 0 };
      const mutex = new RedlockMutex(clients, name, habits) as Mutex;
      return async () => {
        await mutex.acquire();
        await mutex.release();
      };
    }
    default:
      throw new Error(`${name}: no such peer`);
  }
}
