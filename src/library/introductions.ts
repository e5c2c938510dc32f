// Whether the masters of a program are fit to be masters: each is asked who it is, until it has told. The surprise: those that were not
// needed for the first quorum get a moment more, so that a replica, or a server listed twice, is found out at once also when it
// answers last; after that nobody waits for them.

import type { MasterFailure } from '../lock/events.ts';
import type { Clock } from '../lock/ports.ts';
import type { RedisMaster } from '../redis/redis-master.ts';

/** The least time that they get. */
const leastMs = 25;

export class Introductions {
  readonly #clock: Clock;
  readonly #unknown: Set<RedisMaster>;
  readonly #unfit: MasterFailure[] = [];
  #isFirst = true;

  constructor(masters: readonly RedisMaster[], clock: Clock) {
    this.#clock = clock;
    this.#unknown = new Set(masters);
  }

  /** Those that must not be in the list, as far as they have told. `elapsedMs` is how long the quorum has taken. */
  async unfit(elapsedMs: number): Promise<readonly MasterFailure[]> {
    const all = Promise.all([...this.#unknown].map((master) => this.#ask(master)));
    if (this.#isFirst) {
      this.#isFirst = false;
      const enough = new AbortController();
      all.then(() => enough.abort());
      await this.#clock.sleep(leastMs + 2 * elapsedMs, enough.signal);
    }
    return this.#unfit;
  }

  async #ask(master: RedisMaster): Promise<void> {
    const failed = await master.introduce();
    const isUnfit = failed?.cause === 'unfit';
    if (failed !== null && !isUnfit) return;
    if (this.#unknown.delete(master) && isUnfit) this.#unfit.push({ master: master.name, failed });
  }
}
