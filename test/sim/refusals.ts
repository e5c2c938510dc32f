// The runs that do not wait and that masters have refused, as the answers on the wire tell, for the
// checker of what the histories count. A master knows only the last run of each host, so a run that
// asks again after another one of its host is counted again.

import type { SimServer } from './sim-server.ts';
import type { Fact, Witness } from './witness.ts';

export interface RefusalFact {
  readonly kind: 'run-refused';
  readonly server: SimServer;
  readonly key: string;
  readonly host: string;
  /** How many runs of this host the master has refused, and not granted the lock since. */
  readonly least: number;
  /** The same, with those that it may have counted again. */
  readonly most: number;
}

interface Refused {
  readonly runs: Set<string>;
  last: string | null;
  againCount: number;
}

/** An attempt of a run that does not wait. */
interface Attempted {
  readonly host: string;
  readonly run: string;
  readonly isFirst: boolean;
}

export class Refusals {
  readonly #attempts = new Map<string, Attempted>();
  readonly #all = new Map<string, Refused>();

  attempted(value: string, attempted: Attempted): void {
    this.#attempts.set(value, attempted);
  }

  /** Returns what the histories have to count now. */
  answered(
    server: SimServer,
    keys: readonly string[],
    value: string,
    isGranted: boolean,
  ): readonly RefusalFact[] {
    const attempted = this.#attempts.get(value);
    if (attempted === undefined) return none;
    const { host, run, isFirst } = attempted;
    return keys.map((key) => {
      const name = `${server.name} ${key} ${host}`;
      const refused = this.#all.get(name) ?? { runs: new Set(), last: null, againCount: 0 };
      this.#all.set(name, refused);
      const { runs, last } = refused;
      // A first attempt that arrives after a later one does not know that this was refused.
      const isOutOfOrder = runs.has(run) && (last !== run || (isGranted && isFirst));
      if (isOutOfOrder) refused.againCount += 1;
      if (isGranted) runs.delete(run);
      else runs.add(run);
      refused.last = isGranted ? last : run;
      const least = runs.size;
      return { kind: 'run-refused', server, key, host, least, most: least + refused.againCount };
    });
  }
}

const none: readonly RefusalFact[] = [];

export const refusalCheckers = {
  /** A master counts each run that it has refused, and counts it once. */
  skipsCounted(fact: Fact, { isForgetful }: Witness): string | null {
    if (fact.kind !== 'run-refused' || isForgetful) return null;
    const { server, key, host, least, most } = fact;
    const count = server.redis.skipsOf(key).get(host) ?? 0;
    if (count >= least && count <= most) return null;
    return `${server.name} counts ${count} refused runs of ${host} for ${key}, of ${least}`;
  },
};
