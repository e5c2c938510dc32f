// The network between processes and servers: links with two directions each, and wires (one
// direction of one connection) on them. It delivers bytes in order, delays them and fails, and
// knows nothing of Redis. TCP never loses a message silently: what meets a partition arrives after
// it, unless the connection breaks first. A wire may be so slow that its messages arrive after
// those of a later connection.

import type { Random } from './random.ts';
import type { World } from './world.ts';

export interface NetworkOptions {
  readonly minMs: number;
  /** Added to the delay: exponential, this on average. */
  readonly jitterMs: number;
  readonly tailChance: number;
  readonly tailMs: number;
  /** How often a connection breaks once in its life, some moments after a script is sent on it. */
  readonly deadChance: number;
}

/** One direction between one machine and one server. */
export class Direction {
  readonly network: Network;
  readonly name: string;
  isBlocked = false;
  /** Added to every delay. */
  slowMs = 0;
  readonly #held = new Set<Wire>();

  constructor(network: Network, name: string) {
    this.network = network;
    this.name = name;
  }

  hold(wire: Wire): void {
    this.#held.add(wire);
  }

  block(): void {
    this.isBlocked = true;
  }

  unblock(): void {
    if (!this.isBlocked) return;
    this.isBlocked = false;
    for (const wire of this.#held) wire.flush();
    this.#held.clear();
  }
}

export interface Link {
  readonly toServer: Direction;
  readonly toClient: Direction;
}

interface Segment {
  readonly sentAt: number;
  readonly messages: (() => void)[];
  isDelivered: boolean;
}

/** One direction of one connection: first in, first out. */
export class Wire {
  readonly #direction: Direction;
  readonly #held: (() => void)[] = [];
  /** From now on, every message takes so much longer. */
  clogMs = 0;
  /** From now on, no message is delivered, without an error. */
  isDead = false;
  #isCut = false;
  #lastAt = 0;
  #segment: Segment | null = null;

  constructor(direction: Direction) {
    this.#direction = direction;
  }

  send(deliver: () => void): void {
    if (this.isDead || this.#isCut) return;
    if (this.#direction.isBlocked || this.#held.length > 0) {
      this.#held.push(deliver);
      this.#direction.hold(this);
      return;
    }
    this.#dispatch(deliver, 0);
  }

  /** Nothing arrives any more, including what is under way. */
  cut(): void {
    this.#isCut = true;
    this.#held.length = 0;
  }

  flush(): void {
    // Held messages have to be sent again, for which TCP takes its time.
    const retransmissionMs = this.#direction.network.random.between(0, 200);
    for (const deliver of this.#held) this.#dispatch(deliver, retransmissionMs);
    this.#held.length = 0;
  }

  #dispatch(deliver: () => void, extraMs: number): void {
    const { network, slowMs } = this.#direction;
    const arrivesAt = network.world.now + network.delayMs() + slowMs + this.clogMs + extraMs;
    this.#lastAt = Math.max(this.#lastAt, arrivesAt);
    // Messages of one instant travel in one segment.
    const segment = this.#segment;
    if (segment?.sentAt === network.world.now && !segment.isDelivered) {
      segment.messages.push(deliver);
      return;
    }
    const next: Segment = { sentAt: network.world.now, messages: [deliver], isDelivered: false };
    this.#segment = next;
    network.world.at(this.#lastAt, () => {
      next.isDelivered = true;
      for (const message of next.messages) if (!this.#isCut) message();
    });
  }
}

export class Network {
  readonly world: World;
  readonly random: Random;
  readonly #options: NetworkOptions;
  readonly #links = new Map<string, Link>();

  constructor(world: World, options: NetworkOptions) {
    this.world = world;
    this.random = world.random.stream('network');
    this.#options = options;
  }

  link(machine: string, server: string): Link {
    const name = `${machine}-${server}`;
    let link = this.#links.get(name);
    if (!link) {
      link = {
        toServer: new Direction(this, `${name} out`),
        toClient: new Direction(this, `${name} back`),
      };
      this.#links.set(name, link);
    }
    return link;
  }

  links(): readonly Link[] {
    return [...this.#links.values()];
  }

  delayMs(): number {
    const { minMs, jitterMs, tailChance, tailMs } = this.#options;
    const tail = this.random.chance(tailChance) ? this.random.around(tailMs) : 0;
    return minMs + this.random.around(jitterMs) + tail;
  }

  /** When the connection on which a script is sent breaks, in ms from now; null: not now. */
  breaksAfterMs(): number | null {
    const { deadChance, minMs, jitterMs } = this.#options;
    if (deadChance === 0 || !this.random.chance(deadChance)) return null;
    // From before the arrival of the script until long after the answer.
    return this.random.between(0, this.random.pick([4, 40]) * (minMs + jitterMs));
  }

  heal(): void {
    for (const { toServer, toClient } of this.#links.values()) {
      for (const direction of [toServer, toClient]) {
        direction.slowMs = 0;
        direction.unblock();
      }
    }
  }
}
