// The wait queue of one resource on a simulated server: src/redis/scripts/queue.lua, on two sorted
// sets. *Note:* equal arrivals are ordered by the bytes of the id, as Redis orders the members of a
// set.

export const silentMs = 3_000;
const keptMs = 10_000;

interface Place {
  readonly arrival: number;
  readonly seenAt: number;
  /** In true time, for the checkers. */
  readonly enteredAt: number;
}

/** A preemptible waiter that has just been granted what it waited for. */
interface Served {
  readonly arrival: number;
  readonly at: number;
}

export class SimQueue {
  readonly #places = new Map<string, Place>();
  readonly #served = new Map<string, Served>();
  readonly #everSeen: Map<string, number>;
  /** All in order; null when one has come or gone since they were sorted. */
  #sorted: readonly string[] | null = null;
  #expiresAt = 0;

  /** `everSeen`: every waiter that was ever queued, for the checkers; it outlives the queue. */
  constructor(everSeen: Map<string, number>) {
    this.#everSeen = everSeen;
  }

  /**
   * Drops waiters without a sign of life for three seconds. `now`: the server's time of day in ms,
   * as everywhere here.
   */
  first(now: number): string | null {
    return this.waiters(now)[0] ?? null;
  }

  /** The same, with all that are left. */
  waiters(now: number): readonly string[] {
    this.#expire(now);
    for (const [id, { seenAt }] of this.#places) if (seenAt <= now - silentMs) this.forget(id);
    for (const [id, { at }] of this.#served) if (at <= now - silentMs) this.#served.delete(id);
    return this.#ids();
  }

  /** The live waiters, for an observer: none is dropped. */
  living(now: number): { id: string; arrival: number }[] {
    if (now > this.#expiresAt) return [];
    const ids = this.#ids().filter((id) => this.seenAt(id) > now - silentMs);
    return ids.map((id) => ({ id, arrival: this.arrivalOf(id) }));
  }

  /** All in order as they are, with none dropped; for the checkers. */
  all(now: number): readonly string[] {
    this.#expire(now);
    return this.#ids();
  }

  see(id: string, arrival: number, now: number, trueTime: number): void {
    this.#expire(now);
    const known = this.#places.get(id);
    if (known?.arrival !== arrival) this.#sorted = null;
    this.#places.set(id, { arrival, seenAt: now, enteredAt: known?.enteredAt ?? trueTime });
    this.#everSeen.set(id, arrival);
    this.#expiresAt = now + keptMs;
  }

  forget(id: string): void {
    if (this.#places.delete(id)) this.#sorted = null;
  }

  serve(id: string, arrival: number, now: number): void {
    this.#served.set(id, { arrival, at: now });
    this.#expiresAt = now + keptMs;
  }

  /** The waiters that were granted the lock within the last three seconds. */
  served(): { id: string; arrival: number }[] {
    return [...this.#served].map(([id, { arrival }]) => ({ id, arrival }));
  }

  arrivalOf(id: string): number {
    return this.#places.get(id)?.arrival ?? Number.NaN;
  }

  rankOf(id: string): number {
    return this.#ids().indexOf(id);
  }

  seenAt(id: string): number {
    return this.#places.get(id)?.seenAt ?? 0;
  }

  places(): { id: string; arrival: number; enteredAt: number }[] {
    return [...this.#places].map(([id, { arrival, enteredAt }]) => ({ id, arrival, enteredAt }));
  }

  copy(): SimQueue {
    const copy = new SimQueue(this.#everSeen);
    for (const [id, position] of this.#places) copy.#places.set(id, position);
    for (const [id, served] of this.#served) copy.#served.set(id, served);
    copy.#expiresAt = this.#expiresAt;
    return copy;
  }

  #expire(now: number): void {
    if (now <= this.#expiresAt) return;
    this.#places.clear();
    this.#sorted = null;
    this.#served.clear();
  }

  #ids(): readonly string[] {
    this.#sorted ??= [...this.#places]
      .sort(([idA, a], [idB, b]) => a.arrival - b.arrival || (idA < idB ? -1 : idA > idB ? 1 : 0))
      .map(([id]) => id);
    return this.#sorted;
  }
}
