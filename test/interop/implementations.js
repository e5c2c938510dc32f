// @ts-check
// The other lock libraries that are run against ours, at exact versions, and what is known of each.
// `npm run interop` takes these names; docs/interop.md has what they do wrong.

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {'npm' | 'Go' | 'PyPI' | 'crates.io' | 'Maven' | Source | 'folder'} Registry
 * @typedef {'Ruby source' | 'PHP source' | 'C++ source' | 'Perl source'} Source in no registry:
 *   checkouts of git in a folder that the caller names
 *
 * @typedef {object} Implementation
 * @property {string} name as `npm run interop` takes it
 * @property {string} title with the version
 * @property {Registry} registry
 * @property {readonly string[]} packages in the words of the registry's client; of a source,
 *   OWNER/NAME@COMMIT on GitHub
 * @property {1 | 3} masterCount
 * @property {string} prefix what it puts in front of a name
 * @property {'when asked' | 'by itself' | 'never'} extends how it extends a lock with a ttl
 * @property {'nothing' | 'our lock'} lateReleaseRemoves what its extension and release take away
 *   when its lease has ended and the lock is ours
 * @property {'nothing' | 'its keys'} failedAttemptLeaves what stands on masters that granted
 * @property {'works' | 'leaves its keys'} withMasterDown what it does when one of three is down
 */

const usual = {
  masterCount: /** @type {1 | 3} */ (3),
  prefix: '',
  extends: /** @type {const} */ ('when asked'),
  lateReleaseRemoves: /** @type {const} */ ('nothing'),
  failedAttemptLeaves: /** @type {const} */ ('nothing'),
  withMasterDown: /** @type {const} */ ('works'),
};
const single = { ...usual, masterCount: /** @type {1} */ (1) };
const ioredis = 'ioredis@5.11.1';
const redis = 'redis==8.1.0';
/** One folder: one program has all of them. */
const maven = {
  registry: /** @type {const} */ ('Maven'),
  packages: [
    'org.redisson:redisson:4.7.0',
    'net.javacrumbs.shedlock:shedlock-provider-redis-jedis4:5.12.0',
    'redis.clients:jedis:4.4.8',
  ],
};

/** Two interfaces of one library. */
const redlockCpp = {
  registry: /** @type {const} */ ('C++ source'),
  packages: ['jacket-code/redlock-cpp@f9f56187bab5935c0857822e7953150a8836896f'],
};

/** @type {readonly Implementation[]} */
export const implementations = [
  {
    ...usual,
    name: 'redlock-4',
    title: 'redlock 4.2.0',
    registry: 'npm',
    packages: ['redlock@4.2.0', ioredis],
  },
  {
    ...usual,
    name: 'redlock-5',
    title: 'redlock 5.0.0-beta.2',
    registry: 'npm',
    packages: ['redlock@5.0.0-beta.2', ioredis],
  },
  {
    ...usual,
    name: 'sesamecare',
    title: '@sesamecare-oss/redlock 1.4.0',
    registry: 'npm',
    packages: ['@sesamecare-oss/redlock@1.4.0', ioredis],
  },
  {
    ...single,
    name: 'redis-semaphore-mutex',
    title: 'redis-semaphore 5.8.0, Mutex',
    registry: 'npm',
    packages: ['redis-semaphore@5.8.0', ioredis],
    prefix: 'mutex:',
    extends: 'by itself',
  },
  {
    ...usual,
    name: 'redis-semaphore-redlock',
    title: 'redis-semaphore 5.8.0, RedlockMutex',
    registry: 'npm',
    packages: ['redis-semaphore@5.8.0', ioredis],
    prefix: 'mutex:',
    extends: 'by itself',
  },
  {
    ...usual,
    name: 'redsync',
    title: 'redsync 4.18.1',
    registry: 'Go',
    packages: ['github.com/go-redsync/redsync/v4@v4.18.1', 'github.com/redis/go-redis/v9@v9.23.0'],
  },
  {
    ...usual,
    name: 'redlock-py',
    title: 'redlock-py 1.0.8',
    registry: 'PyPI',
    packages: ['redlock-py==1.0.8', redis],
    extends: 'never',
    withMasterDown: 'leaves its keys',
  },
  {
    ...usual,
    name: 'pottery',
    title: 'pottery 3.0.1',
    registry: 'PyPI',
    packages: ['pottery==3.0.1', redis],
    prefix: 'redlock:',
  },
  {
    ...usual,
    name: 'aioredlock',
    title: 'aioredlock 0.7.3',
    registry: 'PyPI',
    packages: ['aioredlock==0.7.3', 'aioredis==1.3.1'],
  },
  {
    ...single,
    name: 'python-redis-lock',
    title: 'python-redis-lock 4.0.1',
    registry: 'PyPI',
    packages: ['python-redis-lock==4.0.1', redis],
    prefix: 'lock:',
  },
  {
    ...single,
    name: 'redis-py',
    title: 'redis-py 8.1.0, Lock',
    registry: 'PyPI',
    packages: [redis],
  },
  { ...maven, ...single, name: 'redisson-lock', title: 'Redisson 4.7.0, RLock', extends: 'never' },
  {
    ...maven,
    ...single,
    name: 'redisson-fenced-lock',
    title: 'Redisson 4.7.0, RFencedLock',
    extends: 'never',
  },
  {
    ...maven,
    ...usual,
    name: 'redisson-redlock',
    title: 'Redisson 4.7.0, RedissonRedLock',
    extends: 'never',
  },
  {
    ...maven,
    ...single,
    name: 'shedlock',
    title: 'ShedLock 5.12.0, Jedis',
    prefix: 'job-lock:interop:',
    lateReleaseRemoves: 'our lock',
  },
  {
    ...usual,
    name: 'rslock',
    title: 'rslock 0.10.0',
    registry: 'crates.io',
    packages: ['rslock@0.10.0'],
  },
  {
    ...usual,
    name: 'redlock-rb',
    title: 'antirez/redlock-rb 2af803d',
    registry: 'Ruby source',
    packages: [
      'antirez/redlock-rb@2af803d830733c9a9aec21c334dee7f251e5181e',
      'redis/redis-rb@27165e22099a950bf4c3aac56684b42719284947', // 3.3.5: 4 is too new for it.
    ],
    extends: 'never',
  },
  {
    ...usual,
    name: 'redlock-gem',
    title: 'leandromoreira/redlock-rb f176e57',
    registry: 'Ruby source',
    packages: [
      'leandromoreira/redlock-rb@f176e5748a41e8b35a9a986fb6cc8eeae203a64f', // 2.0.6
      'redis-rb/redis-client@92980770a3c09e327813406d234afa4b05c11cce', // 0.30.0
      'mperham/connection_pool@35ea6ce887edf495e9c15322927ccce84249bcd3', // 2.5.5
    ],
  },
  {
    ...usual,
    name: 'redlock-php',
    title: 'ronnylt/redlock-php 535d616',
    registry: 'PHP source',
    packages: ['ronnylt/redlock-php@535d616f243fe8d72b96870bc3ddc488bb091d9e'],
    extends: 'never',
    withMasterDown: 'leaves its keys',
  },
  {
    ...usual,
    name: 'redlock-php-signe',
    title: 'signe/redlock-php ccb9766',
    registry: 'PHP source',
    packages: ['signe/redlock-php@ccb976619c8d41da5824110b893faa3120636544'],
    extends: 'never',
    withMasterDown: 'leaves its keys',
  },
  {
    ...usual,
    ...redlockCpp,
    name: 'redlock-cpp',
    title: 'jacket-code/redlock-cpp f9f5618, Lock',
    extends: 'never',
  },
  {
    ...usual,
    ...redlockCpp,
    name: 'redlock-cpp-continue',
    title: 'jacket-code/redlock-cpp f9f5618, ContinueLock',
  },
  {
    ...usual,
    name: 'redis-distlock',
    title: 'sbertrang/redis-distlock 1e34b5e',
    registry: 'Perl source',
    packages: ['sbertrang/redis-distlock@1e34b5ea2b4945a4b88097d44c7bcd832dc13e82'], // 0.07
    lateReleaseRemoves: 'our lock',
    failedAttemptLeaves: 'its keys',
  },
];

/**
 * A program that speaks the protocol of adapter.ts.
 * @param {string} name
 * @returns {Implementation}
 */
export function ofFolder(name) {
  return { ...usual, name, title: name, registry: 'folder', packages: [] };
}

/**
 * Those of the table, and each FOLDER/NAME/adapter of the caller.
 * @param {string | undefined} folder INTEROP_SOURCES
 */
export function implementationsWith(folder) {
  const names = folder ? readdirSync(folder).sort() : [];
  const own = names.filter((name) => existsSync(join(folder ?? '', name, 'adapter')));
  return [...implementations, ...own.map(ofFolder)];
}
