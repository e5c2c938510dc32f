// The memory of one Redis server: keys, queues, holders and histories. The effects of the scripts
// are in sim-scripts.ts and sim-setnx.ts, connections in sim-server.ts. *Note:* keys expire by the
// server's own time of day in whole ms, so they last up to one ms longer than their ttl; holders
// beside a key up to one ms less.

import { isMode } from '../../src/lock/value.ts';
import type { Flaw } from './flaws.ts';
import { epochMs } from './machine.ts';
import { type FreezeScript, runFreeze } from './sim-freeze.ts';
import { SimHolders } from './sim-holders.ts';
import { runLists, type SimList } from './sim-lists.ts';
import { runLook } from './sim-look.ts';
import { oldMark, runMark, type SimMark } from './sim-mark.ts';
import { runPromoted } from './sim-promoted.ts';
import { SimQueue } from './sim-queue.ts';
import { type LockScript, runScript } from './sim-scripts.ts';
import { isTime, runSetnx, type SetnxScript, shownBy } from './sim-setnx.ts';
import type { Skips } from './sim-skips.ts';
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

/** A line of a history, and when the server received it, by its own clock. */
interface HistoryEntry {
  readonly line: string;
  readonly takenAtMs: number;
}

export interface Snapshot {
  readonly histories: ReadonlyMap<string, readonly HistoryEntry[]>;
  readonly skips: ReadonlyMap<string, Skips>;
  readonly starts: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly entries: ReadonlyMap<string, Entry>;
  readonly queues: ReadonlyMap<string, SimQueue>;
  readonly holders: ReadonlyMap<string, SimHolders>;
  readonly mark: SimMark | null;
  readonly lists: ReadonlyMap<string, SimList>;
}

export type Words = readonly (string | number)[];
type OwnScript = 'act' | 'lists' | 'look' | 'mark' | 'promoted';
export type Script = LockScript | FreezeScript | SetnxScript | OwnScript;
type Item = number | string | null;
/** Text: an error. */
export type Reply = string | number | readonly (Item | readonly (Item | readonly Item[])[])[];

/**
 * Called after a holder appears or disappears under a key: before and after are its value or null.
 * `by` is the value of the script that does it; null: a fault, or a foreign command.
 */
export type OnChange = (
  key: string,
  before: string | null,
  after: string | null,
  by: string | null,
) => void;

export class SimRedis {
  readonly #world: World;
  readonly #rate: number;
  readonly #entries = new Map<string, Entry>();
  readonly #queues = new Map<string, SimQueue>();
  readonly #holders = new Map<string, SimHolders>();
  readonly #histories = new Map<string, readonly HistoryEntry[]>();
  /** How many runs of each host were refused, and which was the last one, by key. */
  readonly skips = new Map<string, Skips>();
  /** The runs that have begun, by key: their lines by their tokens. */
  readonly starts = new Map<string, Map<string, string>>();
  readonly flaws: ReadonlySet<Flaw>;
  /** For the checkers: every waiter that was ever queued here, with its arrival. */
  readonly everWaited = new Map<string, number>();
  /** For the checkers: when a waiter last lost its position in the queue of a key, in true time. */
  readonly preemptedAt = new Map<string, number>();
  /** null: it came back empty, and no client has met it since. */
  mark: SimMark | null;
  /** The lists of masters in use, by host; they go with the mark. */
  readonly lists = new Map<string, SimList>();
  onChange: OnChange = () => {};
  /** Returns how many have been told. A wake-up has an empty message. */
  onPublish: (channel: string, message: string) => number = () => 0;
  /** For the checkers: how an acquire of a value was answered. */
  onAcquire: (keys: readonly string[], value: string, isGranted: boolean) => void = () => {};
  #wallOffsetMs: number;

  constructor(world: World, clock: ServerClock, flaws: ReadonlySet<Flaw> = new Set()) {
    this.#world = world;
    this.#rate = clock.rate;
    this.#wallOffsetMs = clock.wallOffsetMs;
    this.flaws = flaws;
    this.mark = oldMark(this);
  }

  /** In the world's time, for the checkers. */
  get trueTime(): number {
    return this.#world.now;
  }

  /** The server's time of day, exactly. */
  wallMs(): number {
    return epochMs + this.#world.now * this.#rate + this.#wallOffsetMs;
  }

  /** The time of day by which keys expire, in whole ms. */
  get now(): number {
    return Math.floor(this.wallMs());
  }

  /** As TIME answers: seconds and microseconds. */
  time(): [number, number] {
    const microseconds = Math.floor(this.wallMs() * 1000);
    return [Math.floor(microseconds / 1_000_000), microseconds % 1_000_000];
  }

  stepWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  get(key: string): string | null {
    return this.#living(key)?.value ?? null;
  }

  /** Ms; null for a key that never expires. Only for existing keys. */
  remainingMs(key: string): number | null {
    const expiresAt = this.#living(key)?.expiresAt ?? null;
    return expiresAt === null ? null : expiresAt - this.now;
  }

  /** When the key expires, in true time, if nothing touches it; infinite for one that does not. */
  goneAt(key: string): number {
    const entry = this.#living(key);
    if (!entry) return Number.NEGATIVE_INFINITY;
    if (entry.expiresAt === null) return Number.POSITIVE_INFINITY;
    return this.#trueTimeAt(entry.expiresAt + 1);
  }

  keys(): string[] {
    return [...this.#entries.keys()].filter((key) => this.#living(key));
  }

  /**
   * The shown holders of a lock: values, each with the instant at which it expires, in true time.
   */
  shownAt(key: string): ReadonlyMap<string, number> {
    const value = this.get(key);
    if (value === null) return new Map();
    const goneAt = this.goneAt(key);
    if (isTime(value)) {
      const shown = shownBy(this, key, value);
      return new Map(
        shown ? [[shown.owner, Math.min(goneAt, this.#trueTimeAt(shown.safeUntil))]] : [],
      );
    }
    if (!isMode(value)) return new Map([[value, goneAt]]);
    const living = this.holdersOf(key).living(this.now);
    return new Map(
      living.map((one) => [one.value, Math.min(goneAt, this.#trueTimeAt(one.endsAt))]),
    );
  }

  /** Whether a value stands anywhere, shown or not. */
  hasTraceOf(value: string): boolean {
    const holders = [...this.#holders.values()].flatMap((one) => one.living(this.now));
    const isValue = (text: string | null) => text === value || text?.endsWith(` ${value}`);
    return (
      holders.some((one) => one.value === value) ||
      this.keys().some((key) => isValue(this.get(key)))
    );
  }

  /** A key is set or lost without any script: null removes it. */
  put(key: string, value: string | null, ttlMs: number | null = null): void {
    this.#changing([key], null, () => this.set(key, value, ttlMs));
  }

  snapshot(): Snapshot {
    const queues = new Map([...this.#queues].map(([key, queue]) => [key, queue.copy()]));
    const holders = new Map([...this.#holders].map(([key, one]) => [key, one.copy()]));
    return {
      entries: new Map(this.#entries),
      queues,
      holders,
      histories: new Map(this.#histories),
      mark: this.mark,
      lists: new Map(this.lists),
      skips: new Map([...this.skips].map(([key, skips]) => [key, new Map(skips)])),
      starts: new Map([...this.starts].map(([key, starts]) => [key, new Map(starts)])),
    };
  }

  /** Comes back with the memory of then, or with none. */
  restore(snapshot: Snapshot | null): void {
    this.#changing(this.keys(), null, () => {
      const { skips, starts } = this;
      for (const memory of [this.#entries, this.#queues, this.#holders, this.#histories])
        memory.clear();
      for (const memory of [skips, starts]) memory.clear();
    });
    this.mark = snapshot?.mark ?? null;
    this.lists.clear();
    for (const [host, list] of snapshot?.lists ?? []) this.lists.set(host, list);
    for (const [key, lines] of snapshot?.histories ?? []) this.#histories.set(key, lines);
    for (const [key, skips] of snapshot?.skips ?? []) this.skips.set(key, new Map(skips));
    for (const [key, starts] of snapshot?.starts ?? []) this.starts.set(key, new Map(starts));
    for (const [key, entry] of snapshot?.entries ?? []) this.#entries.set(key, entry);
    for (const [key, queue] of snapshot?.queues ?? []) this.#queues.set(key, queue.copy());
    for (const [key, one] of snapshot?.holders ?? []) this.#holders.set(key, one.copy());
  }

  run(script: Script, keys: readonly string[], args: Words): Reply {
    const locks = keys.filter((key) => !key.startsWith('{'));
    if (script === 'look') return runLook(this, locks);
    if (script === 'mark') return runMark(this, args);
    if (script === 'lists') return runLists(this, args);
    if (script === 'promoted') return runPromoted(this, keys[0] ?? '', args);
    if (script === 'freeze' || script === 'thaw') return runFreeze(this, script, keys, args);
    if (script === 'act') {
      this.record(keys[0] ?? '', String(args[0]));
      return 1;
    }
    const reply = this.#changing(locks, String(args[0]), () => {
      return isSetnx(script)
        ? runSetnx(this, script, keys, args)
        : runScript(this, script, locks, args);
    });
    if (script === 'acquire' && typeof reply === 'object')
      this.onAcquire(locks, String(args[0]), reply[0] === 1);
    return reply;
  }

  /** The lines of the history of a lock, oldest first. */
  historyOf(key: string): readonly string[] {
    return this.entriesOf(key).map(({ line }) => line);
  }

  entriesOf(key: string): readonly HistoryEntry[] {
    return this.#histories.get(key) ?? [];
  }

  record(key: string, line: string): void {
    if (line === '') return;
    const entry = { line, takenAtMs: this.now };
    this.#histories.set(key, [...this.entriesOf(key), entry].slice(-1_000));
  }

  /** Whether a waiter of this name is in a queue, and not forgotten. */
  waits(id: string): boolean {
    return [...this.#queues.values()].some((queue) => queue.waiters(this.now).includes(id));
  }

  queueOf(key: string): SimQueue {
    return madeIn(this.#queues, key, () => new SimQueue(this.everWaited));
  }

  holdersOf(key: string): SimHolders {
    return madeIn(this.#holders, key, () => new SimHolders());
  }

  hears(channels: string, id: string): boolean {
    return this.onPublish(channels + id, '') > 0 || this.flaws.has('queue-keeps-the-silent');
  }

  /** The value of a counter; a missing one starts at the time of day in microseconds. */
  countOf(counter: string): number {
    const start = this.flaws.has('fence-starts-at-zero') ? 0 : Math.floor(this.wallMs() * 1000);
    return Number(this.get(counter) ?? start);
  }

  /** The error for a counter with a value that counting cannot reach; null: it has none. */
  corrupt(counter: string): string | null {
    const count = this.get(counter);
    if (count === null || (/^\d+$/.test(count) && Number(count) < Number.MAX_SAFE_INTEGER))
      return null;
    return `FENCE ${counter} holds no number that counting makes (delete this key)`;
  }

  raise(counter: string, floor: number, keepMs: number): void {
    if (this.flaws.has('fence-not-raised')) return;
    this.set(counter, String(Math.max(Number(this.get(counter) ?? 0), floor)), keepMs);
  }

  /** As part of a script, which reports it when it is over. */
  set(key: string, value: string | null, ttlMs: number | null): void {
    if (value === null) this.#entries.delete(key);
    else this.#entries.set(key, { value, expiresAt: ttlMs === null ? null : this.now + ttlMs });
  }

  #changing<Result>(keys: readonly string[], by: string | null, change: () => Result): Result {
    const shown = keys.map((key) => this.shownAt(key));
    const result = change();
    for (const [index, key] of keys.entries()) {
      const [before, after] = [shown[index] ?? new Map<string, number>(), this.shownAt(key)];
      for (const [value, goneAt] of before) {
        if (after.get(value) !== goneAt)
          this.onChange(key, value, after.has(value) ? value : null, by);
      }
      for (const value of after.keys()) if (!before.has(value)) this.onChange(key, null, value, by);
    }
    return result;
  }

  #living(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry && entry.expiresAt !== null && this.now > entry.expiresAt) {
      this.#entries.delete(key);
      return undefined;
    }
    return entry;
  }

  #trueTimeAt(wallMs: number): number {
    return (wallMs - epochMs - this.#wallOffsetMs) / this.#rate;
  }
}

function isSetnx(script: Script): script is SetnxScript {
  return script.endsWith('.setnx');
}

function madeIn<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}
