// What one server may hold for us, by value, from the request that may set it until its release is
// confirmed. Only these values need a release, which has to follow the request on its own
// connection.

import type { Clock } from '../lock/ports.ts';
import type { Claim } from '../lock/types.ts';
import type { Removal } from './calls/script-calls.ts';
import type { Connection } from './connection/connection.ts';

/** How long a connection may owe an answer until it is given up; doubled until one comes. */
export const silenceLimitMs = { min: 1_000, max: 32_000 };

/** What the server may hold of one value. */
export interface MayHold {
  /** The last request that may set it: a late refusal means nothing after a repair. */
  asked: symbol;
  /** The connections that owe the answer to such a request: its release must follow on each. */
  readonly owing: Set<Connection>;
  /** Whether such a request has been sent. */
  wasSent: boolean;
  /** When a key that the last one has set is over, if the server runs. */
  endsAt: number;
  /** The release that has not been confirmed; null: none was sent. */
  removal: Removal | null;
}

export class Unreleased extends Map<string, MayHold> {
  readonly #clock: Clock;
  readonly #isInUse: (connection: Connection) => boolean;

  /** `isInUse`: whether other requests are sent on this connection. */
  constructor(clock: Clock, isInUse: (connection: Connection) => boolean) {
    super();
    this.#clock = clock;
    this.#isInUse = isInUse;
  }

  /** Registers a request that may set the value. */
  request({ value, ttlMs }: Claim): MayHold {
    this.#deleteOver();
    const request = { asked: Symbol('request'), endsAt: this.#clock.now() + ttlMs };
    const empty = { owing: new Set<Connection>(), wasSent: false, removal: null };
    const mayHold = Object.assign(this.get(value) ?? empty, request);
    this.set(value, mayHold);
    return mayHold;
  }

  owing(): Connection[] {
    return [...this.values()].flatMap((mayHold) => [...mayHold.owing]);
  }

  /** The value is settled on this connection, which is closed if it was kept for that alone. */
  settle(connection: Connection, mayHold?: MayHold): void {
    mayHold?.owing.delete(connection);
    if (!this.#isInUse(connection) && !this.owing().includes(connection)) connection.close();
  }

  /**
   * A server that is stopped for a day would owe a release for each attempt of it. What it has read
   * by then is followed by its own release; a key that still remains expires.
   */
  #deleteOver(): void {
    const now = this.#clock.now();
    for (const [value, mayHold] of this) {
      if (mayHold.removal === null || now < mayHold.endsAt + silenceLimitMs.max) continue;
      this.delete(value);
      for (const connection of mayHold.owing) this.settle(connection, mayHold);
    }
  }
}
