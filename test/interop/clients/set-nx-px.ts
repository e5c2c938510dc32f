// The lock of one instance, written only from the first half of the distlock page ("Correct
// Implementation with a Single Instance"): SET resource_name my_random_value NX PX 30000, and its
// script for the release.

import { randomBytes } from 'node:crypto';
import type { RespClient } from './resp.ts';

const unlock = `if redis.call("get",KEYS[1]) == ARGV[1] then
    return redis.call("del",KEYS[1])
else
    return 0
end`;

export class SetNxPxLock {
  readonly #redis: RespClient;
  readonly #key: string;
  readonly #value = randomBytes(20).toString('hex');

  constructor(redis: RespClient, key: string) {
    this.#redis = redis;
    this.#key = key;
  }

  async acquire(ttlMs: number): Promise<boolean> {
    return (await this.#redis.send('SET', this.#key, this.#value, 'NX', 'PX', ttlMs)) === 'OK';
  }

  async release(): Promise<boolean> {
    return (await this.#redis.send('EVAL', unlock, 1, this.#key, this.#value)) === 1;
  }
}
