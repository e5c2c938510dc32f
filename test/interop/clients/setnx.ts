// The lock of the old documentation page of SETNX ("Design pattern: Locking with SETNX"), written
// only from that page, which the comments quote. It has no token: the holder recognises its lock by
// the time that it has written.

import type { RespClient } from './resp.ts';

export class SetnxLock {
  readonly #redis: Pick<RespClient, 'send'>;
  readonly #key: string;
  readonly #now: () => number;
  #mine: number | null = null;

  /** `now`: the unix time of this client, in the unit that all clients of this lock write. */
  constructor(redis: Pick<RespClient, 'send'>, key: string, now: () => number) {
    this.#redis = redis;
    this.#key = key;
    this.#now = now;
  }

  /** Tries once. `timeout` in the same unit. */
  async acquire(timeout: number): Promise<boolean> {
    // "SETNX lock.foo <current Unix time + lock timeout + 1>"
    const mine = this.#now() + timeout + 1;
    if ((await this.#redis.send('SETNX', this.#key, mine)) === 1) return this.#acquired(mine);
    // "C4 sends GET lock.foo to check if the lock expired. If it is not, it will sleep for some
    // time and retry from the start."
    const seen = await this.#redis.send('GET', this.#key);
    if (seen === null || !this.#isOver(seen)) return false;
    // "Instead, if the lock is expired [...], C4 tries to perform: GETSET lock.foo <current Unix
    // timestamp + lock timeout + 1>"
    const old = await this.#redis.send('GETSET', this.#key, mine);
    // "C4 can check if the old value stored at key is still an expired timestamp. If it is, the
    // lock was acquired."
    return old === null || this.#isOver(old) ? this.#acquired(mine) : false;
  }

  /** The page has no extension: this writes a new time before the old one is over. */
  async extend(timeout: number): Promise<void> {
    this.#mine = this.#now() + timeout + 1;
    await this.#redis.send('GETSET', this.#key, this.#mine);
  }

  /**
   * "a client holding a lock should always check the timeout didn't expire before unlocking the key
   * with DEL"
   */
  async release(): Promise<void> {
    if (this.#mine !== null && this.#now() < this.#mine) await this.#redis.send('DEL', this.#key);
    this.#mine = null;
  }

  #acquired(mine: number): true {
    this.#mine = mine;
    return true;
  }

  /** "the Unix time at lock.foo is older than the current Unix time" */
  #isOver(text: string | number): boolean {
    return Number(text) < this.#now();
  }
}
