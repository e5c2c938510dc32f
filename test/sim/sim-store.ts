// What a Redis server keeps in memory: texts, hashes, lists and sorted sets under keys that may
// expire. *Note:* keys expire by the server's own time of day in whole ms, so they last up to one
// ms longer than their ttl.

import { SortedSet } from './sorted-set.ts';

/** A list is kept from its end to its head. */
export type Value = string | SortedSet | Map<string, string> | string[];

export interface Entry {
  readonly value: Value;
  /** By the server's clock; null: never. */
  readonly expiresAt: number | null;
}

export interface StoreClock {
  /** The server's time of day, in whole ms. */
  readonly now: number;
  /** For the checkers: the world's. */
  readonly trueTime: number;
  /** As TIME answers: seconds and microseconds. */
  time(): readonly [number, number];
}

/** Thrown by a command on a key of another type. */
export class WrongType extends Error {
  override readonly message = 'WRONGTYPE Operation against a key holding the wrong kind of value';
}

export class SimStore {
  readonly clock: StoreClock;
  #entries = new Map<string, Entry>();

  constructor(clock: StoreClock) {
    this.clock = clock;
  }

  entry(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry && entry.expiresAt !== null && this.clock.now > entry.expiresAt) {
      this.#entries.delete(key);
      return undefined;
    }
    return entry;
  }

  text(key: string): string | null {
    const value = this.entry(key)?.value ?? null;
    if (value !== null && typeof value !== 'string') throw new WrongType();
    return value;
  }

  sortedSet(key: string): SortedSet | undefined {
    const value = this.entry(key)?.value;
    if (value !== undefined && !(value instanceof SortedSet)) throw new WrongType();
    return value;
  }

  hash(key: string): Map<string, string> | undefined {
    const value = this.entry(key)?.value;
    if (value !== undefined && !(value instanceof Map)) throw new WrongType();
    return value;
  }

  list(key: string): string[] | undefined {
    const value = this.entry(key)?.value;
    if (value !== undefined && !Array.isArray(value)) throw new WrongType();
    return value;
  }

  set(key: string, value: Value, expiresAt: number | null): void {
    this.#entries.set(key, { value, expiresAt });
  }

  /** Returns whether it was there. */
  remove(key: string): boolean {
    return this.entry(key) !== undefined && this.#entries.delete(key);
  }

  keys(): string[] {
    return [...this.#entries.keys()].filter((key) => this.entry(key));
  }

  copy(): ReadonlyMap<string, Entry> {
    return new Map(
      [...this.#entries].map(([key, { value, expiresAt }]) => [
        key,
        { value: copyOf(value), expiresAt },
      ]),
    );
  }

  /** Comes back with these entries. */
  restore(entries: ReadonlyMap<string, Entry>): void {
    this.#entries = new Map(
      [...entries].map(([key, { value, expiresAt }]) => [key, { value: copyOf(value), expiresAt }]),
    );
  }
}

function copyOf(value: Value): Value {
  if (typeof value === 'string') return value;
  if (value instanceof SortedSet) return value.copy();
  return Array.isArray(value) ? [...value] : new Map(value);
}
