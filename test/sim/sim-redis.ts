// The memory of one Redis server, and what the four scripts do to it: src/redis/scripts.ts in TypeScript. The
// contract suite runs on this and on real servers, so that it cannot lie. No connections (sim-server.ts). The surprise: keys
// expire by the server's own time of day, in whole ms, so they live up to one ms longer than they were given.

import { epochMs } from './machine.ts';
import { SimQueue } from './sim-queue.ts';
import type { World } from './world.ts';

export interface ServerClock {
  readonly rate: number;
  readonly wallOffsetMs: number;
}

interface Entry {
  readonly value: string;
  /** By the server's clock; null: never. */
  readonly expiresAt: number | null;
}

export interface Snapshot {
  readonly histories: ReadonlyMap<string, readonly string[]>;
  readonly entries: ReadonlyMap<string, Entry>;
  readonly queues: ReadonlyMap<string, SimQueue>;
}

type Words = readonly (string | number)[];

export type Script = 'acquire' | 'extend' | 'heal' | 'release';
export type Reply = number | readonly (number | string)[];

/** Deliberate mistakes in the scripts: see mutants.ts. */
export type Flaw =
  | 'release-without-comparing'
  | 'extend-without-comparing'
  | 'extend-revives'
  | 'heal-overwrites'
  | 'acquire-overwrites-expiring'
  | 'fence-raised-without-owner-check'
  | 'fence-starts-at-zero'
  | 'fence-not-raised'
  | 'acquire-ignores-own-value'
  | 'acquire-jumps-the-queue'
  | 'release-calls-nobody'
  | 'release-calls-everybody'
  | 'release-always-calls'
  | 'release-calls-oneself'
  | 'refusal-always-calls'
  | 'queue-keeps-the-deaf';

/** Told after a key has changed. `by` is the value of the script that does it; null: a fault, not a script. */
export type OnChange = (key: string, before: string | null, after: string | null, by: string | null) => void;

export class SimRedis {
  readonly #world: World;
  readonly #rate: number;
  readonly #entries = new Map<string, Entry>();
  readonly #queues = new Map<string, SimQueue>();
  readonly #histories = new Map<string, readonly string[]>();
  readonly flaws: ReadonlySet<Flaw>;
  onChange: OnChange = () => {};
  /** Returns how many have been told. */
  onPublish: (channel: string) => number = () => 0;
  #wallOffsetMs: number;

  constructor(world: World, clock: ServerClock, flaws: ReadonlySet<Flaw> = new Set()) {
    this.#world = world;
    this.#rate = clock.rate;
    this.#wallOffsetMs = clock.wallOffsetMs;
    this.flaws = flaws;
  }

  /** The server's time of day, as exact as anybody could have it. */
  wallMs(): number {
    return epochMs + this.#world.now * this.#rate + this.#wallOffsetMs;
  }

  stepWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  get(key: string): string | null {
    return this.#living(key)?.value ?? null;
  }

  /** Ms, or null for a key that never expires; only for keys that are there. */
  remainingMs(key: string): number | null {
    const expiresAt = this.#living(key)?.expiresAt ?? null;
    return expiresAt === null ? null : expiresAt - this.#now();
  }

  /** When the key will be gone, in true time, if nobody touches it; infinite for one that stays. */
  goneAt(key: string): number {
    const entry = this.#living(key);
    if (!entry) return Number.NEGATIVE_INFINITY;
    if (entry.expiresAt === null) return Number.POSITIVE_INFINITY;
    return (entry.expiresAt + 1 - epochMs - this.#wallOffsetMs) / this.#rate;
  }

  keys(): string[] {
    return [...this.#entries.keys()].filter((key) => this.#living(key));
  }

  /** A key is set or lost without any script: null removes it. */
  put(key: string, value: string | null, ttlMs: number | null = null): void {
    this.#change(key, value, ttlMs, null);
  }

  snapshot(): Snapshot {
    const queues = new Map([...this.#queues].map(([key, queue]) => [key, queue.copy()]));
    return { entries: new Map(this.#entries), queues, histories: new Map(this.#histories) };
  }

  /** Comes back with the memory of then, or with none. */
  restore(snapshot: Snapshot | null): void {
    for (const key of this.keys()) this.#change(key, null, null, null);
    this.#queues.clear();
    this.#histories.clear();
    for (const [key, lines] of snapshot?.histories ?? []) this.#histories.set(key, lines);
    for (const [key, entry] of snapshot?.entries ?? []) this.#entries.set(key, entry);
    for (const [key, queue] of snapshot?.queues ?? []) this.#queues.set(key, queue.copy());
  }

  run(script: Script, keys: readonly string[], words: readonly (string | number)[]): Reply {
    const [key = '', counter = ''] = keys;
    const value = String(words[0]);
    const [ttlMs = 0, keepMs = 0, fence = 0] = words.slice(1, 4).map(Number);
    switch (script) {
      case 'acquire':
        return this.#acquire(key, counter, value, ttlMs, keepMs, words.slice(3));
      case 'extend':
        return this.#extend(key, counter, value, ttlMs, keepMs, fence);
      case 'heal':
        return this.#heal(key, counter, value, ttlMs, keepMs, fence);
      case 'release':
        this.#record(String(words[6] ?? ''), String(words[5] ?? ''));
        return this.#release(key, value, ttlMs, words.slice(2));
    }
  }

  /** The lines of a history, oldest first. */
  historyOf(key: string): readonly string[] {
    return this.#histories.get(key) ?? [];
  }

  /** Whether anybody of this name is in a queue. */
  waits(id: string): boolean {
    return [...this.#queues.values()].some((queue) => queue.has(id));
  }

  queueOf(key: string): SimQueue {
    let queue = this.#queues.get(key);
    if (!queue) {
      queue = new SimQueue();
      this.#queues.set(key, queue);
    }
    return queue;
  }

  #acquire(key: string, counter: string, value: string, ttlMs: number, keepMs: number, place: Words): Reply {
    const [id = '', arrival = '', channels = ''] = place.map(String);
    const queue = this.queueOf(key);
    const now = this.#now();
    let head = queue.first(now);
    const holder = this.get(key);
    const remainingMs = holder === null ? -2 : (this.remainingMs(key) ?? -1);
    const refuse = (by: string): Reply => {
      if (id !== '') queue.see(id, Number(arrival), now, this.#world.now);
      return [0, by, remainingMs, id === '' ? -1 : queue.rankOf(id), ...this.#time()];
    };
    const isOurs = holder === value && !this.flaws.has('acquire-ignores-own-value');
    const isGrabbed = this.flaws.has('acquire-overwrites-expiring') && remainingMs < ttlMs / 4;
    if (holder !== null && !isOurs && !isGrabbed) return refuse(holder);
    if (holder === null && id !== '') {
      queue.see(id, Number(arrival), now, this.#world.now);
      head = queue.head(now);
    }
    while (holder === null && head !== null && head !== id && !this.flaws.has('acquire-jumps-the-queue')) {
      const hasJustAsked = queue.seenAt(head) > now - 500 && !this.flaws.has('refusal-always-calls');
      if (hasJustAsked || this.#hears(channels, head)) return refuse('');
      queue.forget(head);
      head = queue.head(now);
    }
    if (id !== '') queue.forget(id);
    this.#change(key, value, ttlMs, value);
    if (keepMs === 0) return [1, 0];
    const start = this.flaws.has('fence-starts-at-zero') ? 0 : Math.floor(this.wallMs() * 1000);
    const fence = Number(this.get(counter) ?? start) + 1;
    this.#write(counter, String(fence), keepMs);
    return [1, fence];
  }

  #extend(key: string, counter: string, value: string, ttlMs: number, keepMs: number, fence: number): Reply {
    const holder = this.get(key);
    if (keepMs > 0 && this.flaws.has('fence-raised-without-owner-check')) {
      this.#raise(counter, fence, keepMs);
      if (holder !== value) return [1, ...this.#time()];
    }
    if (holder === null && !this.flaws.has('extend-revives')) return [-1];
    if (holder !== null && holder !== value && !this.flaws.has('extend-without-comparing')) return [0];
    this.#change(key, value, ttlMs, value);
    if (keepMs > 0) this.#raise(counter, fence, keepMs);
    return [1, ...this.#time()];
  }

  #heal(key: string, counter: string, value: string, ttlMs: number, keepMs: number, fence: number): Reply {
    const holder = this.get(key);
    if (holder !== null && holder !== value && !this.flaws.has('heal-overwrites')) return 0;
    this.#change(key, value, ttlMs, value);
    if (keepMs > 0) this.#raise(counter, fence, keepMs);
    return 1;
  }

  #release(key: string, value: string, keepMs: number, place: Words): Reply {
    const [id = '', arrival = '', channels = ''] = place.map(String);
    const queue = this.queueOf(key);
    const holder = this.get(key);
    const isOurs = holder === value || (holder !== null && this.flaws.has('release-without-comparing'));
    if (isOurs) this.#change(key, keepMs > 0 ? holder : null, keepMs, value);
    const leaves = id !== '' && arrival === '';
    const wasFirst = leaves && queue.first(this.#now()) === id;
    if (leaves) queue.forget(id);
    else if (id !== '') queue.see(id, Number(arrival), this.#now(), this.#world.now);
    if (isOurs || wasFirst || (this.get(key) === null && this.flaws.has('release-always-calls'))) {
      if (this.flaws.has('release-calls-everybody')) for (const one of queue.places()) this.#hears(channels, one.id);
      let head = queue.first(this.#now());
      const isCalled = () => head !== null && (head !== id || this.flaws.has('release-calls-oneself'));
      while (isCalled() && !this.flaws.has('release-calls-nobody') && !this.#hears(channels, head as string)) {
        queue.forget(head as string);
        head = queue.first(this.#now());
      }
    }
    return isOurs ? 1 : holder === null ? -1 : 0;
  }

  #record(key: string, line: string): void {
    if (line !== '') this.#histories.set(key, [...this.historyOf(key), line].slice(-1_000));
  }

  #hears(channels: string, id: string): boolean {
    return this.onPublish(channels + id) > 0 || this.flaws.has('queue-keeps-the-deaf');
  }

  #raise(counter: string, floor: number, keepMs: number): void {
    if (this.flaws.has('fence-not-raised')) return;
    this.#write(counter, String(Math.max(Number(this.get(counter) ?? 0), floor)), keepMs);
  }

  #change(key: string, value: string | null, ttlMs: number | null, by: string | null): void {
    const before = this.get(key);
    this.#write(key, value, ttlMs);
    this.onChange(key, before, value, by);
  }

  #write(key: string, value: string | null, ttlMs: number | null): void {
    if (value === null) this.#entries.delete(key);
    else this.#entries.set(key, { value, expiresAt: ttlMs === null ? null : this.#now() + ttlMs });
  }

  #living(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry && entry.expiresAt !== null && this.#now() > entry.expiresAt) {
      this.#entries.delete(key);
      return undefined;
    }
    return entry;
  }

  #now(): number {
    return Math.floor(this.wallMs());
  }

  #time(): [number, number] {
    const microseconds = Math.floor(this.wallMs() * 1000);
    return [Math.floor(microseconds / 1_000_000), microseconds % 1_000_000];
  }
}
