// Reported locks in steps, for the checkers: whether a quorum shows each one, and when that ended.
// The processes that acquired them have ended, so a ticket is all that connects a value with a
// user.

import { quorumOf } from '../../src/lock/quorum.ts';
import type { SimServer } from './sim-server.ts';
import type { LockHandle } from './step-facts.ts';
import type { World } from './world.ts';

export class Tickets {
  /** In true time, by value: when it was reported as released. */
  readonly releasedAt = new Map<string, number>();
  readonly #told = new Map<string, LockHandle>();
  readonly #goneAt = new Map<string, number>();
  readonly #world: World;
  readonly #servers: readonly SimServer[];
  readonly #prefix: string;
  readonly #quorum: number;

  constructor(world: World, servers: readonly SimServer[], prefix: string, masterCount: number) {
    this.#world = world;
    this.#servers = servers;
    this.#prefix = prefix;
    this.#quorum = quorumOf(masterCount);
  }

  add(handle: LockHandle): void {
    this.#told.set(handle.value, handle);
  }

  has(value: string): boolean {
    return this.#told.has(value);
  }

  /** Whether a quorum shows it, and will until then if nothing touches it. */
  isShown({ resource, value }: LockHandle, until = this.#world.now): boolean {
    const goneAts = this.#servers.map(
      ({ redis }) => redis.shownAt(this.#prefix + resource).get(value) ?? 0,
    );
    return goneAts.filter((goneAt) => goneAt > until).length >= this.#quorum;
  }

  /** Whether a script or a fault has removed it from a quorum since then. */
  wasGoneSince(value: string, since: number): boolean {
    return (this.#goneAt.get(value) ?? Number.NEGATIVE_INFINITY) >= since;
  }

  /** On how many servers it stands, shown or not. */
  countOf(value: string): number {
    return this.#servers.filter(({ redis }) => redis.hasTraceOf(value)).length;
  }

  /** A ticket whose value stands somewhere; null: none does. */
  left(): LockHandle | null {
    return [...this.#told.values()].find(({ value }) => this.countOf(value) > 0) ?? null;
  }

  /** A server no longer shows it, or not as before. */
  changed(value: string | null): void {
    const handle = this.#told.get(value ?? '');
    if (handle && !this.isShown(handle)) this.#goneAt.set(handle.value, this.#world.now);
  }
}
