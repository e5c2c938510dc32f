// @ts-check
// The implementations of npm as adapters (adapter.ts has the protocol). The packages are those of
// the folder that is named. A command has a second or more: without a limit most of them would wait
// for a master that is down. Each attempt is one, without retries of the library.

import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const [name = '', folder = '', ...urls] = process.argv.slice(2);
const load = createRequire(`${folder}/package.json`);
const { Redis } = load('ioredis');
/** Longer on a machine that is slow. */
const commandTimeout = 500 * Number(process.env.TEST_PATIENCE ?? 3);
const clients = urls.map((url) => new Redis(url, { commandTimeout }).on('error', () => {}));

/**
 * @typedef {object} Held
 * @property {((ttlMs: number) => Promise<unknown>) | null} extend null: it extends itself
 * @property {() => Promise<unknown>} release
 */

/** @type {Record<string, () => (name: string, ttlMs: number) => Promise<Held | null>>} */
const implementations = {
  'redlock-4': () => {
    const redlock = new (load('redlock'))(clients, { retryCount: 0 }).on('clientError', () => {});
    return async (name, ttlMs) => {
      const lock = await redlock.lock(name, ttlMs);
      return { extend: (ms) => lock.extend(ms), release: () => lock.unlock() };
    };
  },
  'redlock-5': () => acquirer(new (load('redlock').default)(clients, { retryCount: 0 })),
  sesamecare: () =>
    acquirer(new (load('@sesamecare-oss/redlock').Redlock)(clients, { retryCount: 0 })),
  'redis-semaphore-mutex': () => {
    const { Mutex } = load('redis-semaphore');
    return mutexes((name, options) => new Mutex(clients[0], name, options));
  },
  'redis-semaphore-redlock': () => {
    const { RedlockMutex } = load('redis-semaphore');
    return mutexes((name, options) => new RedlockMutex(clients, name, options));
  },
};

/** @param {any} redlock the newer interface: names in an array, and a new lock for an extension */
function acquirer(redlock) {
  redlock.on('error', () => {});
  return async (/** @type {string} */ name, /** @type {number} */ ttlMs) => {
    let lock = await redlock.acquire([name], ttlMs);
    const extend = async (/** @type {number} */ ms) => {
      lock = await lock.extend(ms);
    };
    return { extend, release: () => lock.release() };
  };
}

/** @param {(name: string, options: object) => any} create a mutex that extends itself */
function mutexes(create) {
  return async (/** @type {string} */ name, /** @type {number} */ ttlMs) => {
    const options = { lockTimeout: ttlMs, acquireAttemptsLimit: 1, onLockLost: () => {} };
    const mutex = create(name, options);
    if (!(await mutex.tryAcquire())) return null;
    return { extend: null, release: () => mutex.release() };
  };
}

const acquire = implementations[name]?.();
if (acquire === undefined) throw new Error(`${name}: no such implementation`);
/** @type {Held | null} */
let held = null;

/** @param {string} line */
async function answer(line) {
  const [verb, ...args] = line.split(' ');
  if (verb === 'acquire') {
    held = (await acquire?.(args[0] ?? '', Number(args[1]))) ?? null;
    return held === null ? 'no' : 'yes';
  }
  if (held === null) return 'no';
  if (verb === 'extend') {
    if (held.extend === null) return 'none';
    await held.extend(Number(args[0]));
    return 'yes';
  }
  await held.release();
  return 'yes';
}

await Promise.all(clients.map((client) => client.ping()));
process.stdout.write('ready\n');
for await (const line of createInterface(process.stdin)) {
  const reply = await answer(line).catch((error) => `error ${String(error)}`);
  process.stdout.write(`${reply.replace(/\s+/g, ' ')}\n`);
}
process.exit(0);
