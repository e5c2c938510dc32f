// One Redis server's memory, what changes it, and what the checkers want to know of it: the
// holders and waiters of a lock, and its history. Connections are in sim-server.ts.

import { isMode } from '../../src/lock/value.ts';
import { parseWaiterId } from '../../src/lock/waiter-id.ts';
import type { ScriptName } from '../../src/redis/calls/scripts.ts';
import { beside } from '../../src/redis/keys.ts';
import { epochMs } from './machine.ts';
import { runCommand } from './sim-commands.ts';
import { lua, type Reply } from './sim-lua.ts';
import { type Entry, SimStore } from './sim-store.ts';
import { isTime, shownBy } from './sim-times.ts';
import { writing } from './start-troubles.ts';
import type { World } from './world.ts';

export interface ServerClock {
  readonly rate: number;
  readonly wallOffsetMs: number;
}

/** A waiter in a queue. */
export interface Place {
  readonly id: string;
  readonly arrival: number;
  /** In true time, for the checkers. */
  readonly enteredAt: number;
}

/** A holder beside a key. */
export interface SimHolder {
  /** 0: none. */
  readonly slot: number;
  readonly value: string;
  /** By the server's clock, in ms; the holder is removed at that instant. */
  readonly endsAt: number;
}

/** The mark of a data set; `since` is by the clock of the server. */
export interface SimMark {
  readonly id: string;
  readonly since: number;
}

export type Snapshot = ReadonlyMap<string, Entry>;
export type Words = readonly (string | number)[];

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

/** A waiter without a sign of life for so long counts as dead: queue.lua. */
export const silentMs = 3_000;
const yearMs = 365 * 24 * 60 * 60 * 1000;

export class SimRedis {
  readonly #world: World;
  readonly #rate: number;
  readonly #markKey: string;
  readonly #store: SimStore;
  /** For the checkers: every waiter that was ever queued here, with its arrival. */
  readonly everWaited = new Map<string, number>();
  /** For the checkers: when a waiter last lost its position in the queue of a key, in true time. */
  readonly preemptedAt = new Map<string, number>();
  /** Why a command of a script that has written nothing is refused now; null: it is not. */
  refusalOf: (command: readonly string[]) => string | null = () => null;
  onChange: OnChange = () => {};
  /** Returns how many have been told. A wake-up has an empty message. */
  onPublish: (channel: string, message: string) => number = () => 0;
  /** For the checkers: how an acquire of a value was answered. */
  onAcquire: (keys: readonly string[], value: string, isGranted: boolean) => void = () => {};
  #wallOffsetMs: number;

  /** `prefix`: of the locks. The server has been in use for long, as its mark says. */
  constructor(world: World, clock: ServerClock, prefix: string) {
    this.#world = world;
    this.#rate = clock.rate;
    this.#wallOffsetMs = clock.wallOffsetMs;
    this.#markKey = beside(prefix, 'mark');
    this.#store = new SimStore(this);
    this.mark = { id: 'old', since: this.now - yearMs };
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
  time(): readonly [number, number] {
    const microseconds = Math.floor(this.wallMs() * 1000);
    return [Math.floor(microseconds / 1_000_000), microseconds % 1_000_000];
  }

  stepWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  /** The text under a key. */
  get(key: string): string | null {
    return this.#store.text(key);
  }

  /** Ms; null for a key that never expires. Only for existing keys. */
  remainingMs(key: string): number | null {
    const expiresAt = this.#store.entry(key)?.expiresAt ?? null;
    return expiresAt === null ? null : expiresAt - this.now;
  }

  /** When the key expires, in true time, if nothing touches it; infinite for one that does not. */
  goneAt(key: string): number {
    const entry = this.#store.entry(key);
    if (!entry) return Number.NEGATIVE_INFINITY;
    if (entry.expiresAt === null) return Number.POSITIVE_INFINITY;
    return this.#trueTimeAt(entry.expiresAt + 1);
  }

  /** The keys of texts. */
  keys(): string[] {
    return this.#store.keys().filter((key) => typeof this.#store.entry(key)?.value === 'string');
  }

  /**
   * The shown holders of a lock: values, each with the instant at which it expires, in true time.
   */
  shownAt(key: string): ReadonlyMap<string, number> {
    const value = this.get(key);
    if (value === null) return new Map();
    const goneAt = this.goneAt(key);
    if (isTime(value)) {
      const shown = shownBy(value, this.get(beside(key, 'owner')), this.now);
      return new Map(
        shown ? [[shown.owner, Math.min(goneAt, this.#trueTimeAt(shown.safeUntil))]] : [],
      );
    }
    if (!isMode(value)) return new Map([[value, goneAt]]);
    return new Map(
      this.holdersOf(key).map((one) => [one.value, Math.min(goneAt, this.#trueTimeAt(one.endsAt))]),
    );
  }

  /** The holders beside a key that have not ended, by expiry. */
  holdersOf(key: string): SimHolder[] {
    return this.#holdersIn(beside(key, 'holders'));
  }

  /** The waiters in the queue of a lock, in order, with those that have fallen silent. */
  queueOf(key: string): Place[] {
    const members = this.#store.sortedSet(beside(key, 'queue'))?.members ?? [];
    return members.map(({ member, score, since }) => ({
      id: member,
      arrival: score,
      enteredAt: since,
    }));
  }

  /** Whether a waiter of this name is in a queue, and has given a sign of life lately. */
  waits(id: string): boolean {
    return this.#store
      .keys()
      .some((key) => key.endsWith(queueEnd) && this.#isAlive(key.slice(1, -queueEnd.length), id));
  }

  /** Whether a value stands anywhere, shown or not. */
  hasTraceOf(value: string): boolean {
    const isValue = (text: string | null) => text === value || text?.endsWith(` ${value}`);
    return (
      this.keys().some((key) => isValue(this.get(key))) ||
      this.#store
        .keys()
        .some((key) => key.endsWith('}:holders') && this.#holdersIn(key).some(has(value)))
    );
  }

  /** The keys beside locks that nothing ends. */
  endlessKeys(): string[] {
    const isBeside = (key: string) => /\}:(fence|queue|waiters|holders)$/.test(key);
    return this.#store.keys().filter((key) => isBeside(key) && this.remainingMs(key) === null);
  }

  /** null: it came back empty, or is new, and no client has met it since. */
  get mark(): SimMark | null {
    const mark = this.#store.hash(this.#markKey);
    return mark ? { id: mark.get('id') ?? '', since: Number(mark.get('since')) } : null;
  }

  set mark(mark: SimMark | null) {
    if (mark === null) this.#store.remove(this.#markKey);
    else this.#setBesideMark({ id: mark.id, since: String(mark.since) });
  }

  /** A set of masters, as a host recorded it `agoMs` ago. */
  putSet(host: string, agoMs: number, ids: string): void {
    this.#setBesideMark({ [`set:${ids}`]: `${this.now - agoMs} ${host}` });
  }

  /** The lines of the history of a lock, oldest first. */
  historyOf(key: string): readonly string[] {
    const lines = this.#store.list(beside(key, 'runs:history')) ?? [];
    return lines.map((line) => line.replace(/^\d+ /, ''));
  }

  /** How many runs of each host were refused, and did not wait. */
  skipsOf(key: string): ReadonlyMap<string, number> {
    const skips = this.#factsOf(key, 'skip ');
    return new Map(skips.map(([host, fact]) => [host, Number.parseInt(fact, 10)]));
  }

  /** The runs that have begun: their lines by their tokens. */
  startsOf(key: string): ReadonlyMap<string, string> {
    const starts = this.#factsOf(key, 'run ');
    return new Map(starts.map(([token, fact]) => [token, fact.replace(/^\d+ /, '')]));
  }

  /** A key is set or lost by a fault: null removes it. */
  put(key: string, value: string | null, ttlMs: number | null = null): void {
    this.#changing([key], null, () => {
      if (value === null) this.#store.remove(key);
      else this.#store.set(key, value, ttlMs === null ? null : this.now + ttlMs);
    });
  }

  snapshot(): Snapshot {
    return this.#store.copy();
  }

  /** Comes back with the memory of then, or with none. */
  restore(snapshot: Snapshot | null): void {
    this.#changing(this.keys(), null, () => this.#store.restore(new Map()));
    this.#store.restore(snapshot ?? new Map());
  }

  /** A command of a client, as a step of its own. */
  command(words: readonly string[]): Reply {
    return this.#changing(words.slice(1, 2), null, () => runCommand(this.#store, words));
  }

  /** `script`: the name of this text. */
  run(text: string, script: ScriptName, keys: readonly string[], args: Words): Reply {
    const locks = keys.filter((key) => !key.startsWith('{'));
    const words = args.map(String);
    const [value = '', , , id = ''] = words;
    const superseding = script === 'acquire' ? id : null;
    let hasWritten = false;
    const reply = this.#changing(locks, value, () =>
      lua.run(text, keys, words, (command) => {
        const refusal = hasWritten ? null : this.refusalOf(command);
        if (refusal !== null) return { err: refusal };
        hasWritten ||= Object.hasOwn(writing, command[0] ?? '');
        return this.#called(command, superseding);
      }),
    );
    if (script !== 'acquire' || !Array.isArray(reply)) return reply;
    if (reply.includes('supersededBy'))
      for (const key of locks) this.preemptedAt.set(key, this.trueTime);
    this.onAcquire(locks, value, reply[0] === 1);
    return reply;
  }

  /** A command of a script. `superseding`: the waiter that asks for the lock; null: none does. */
  #called(command: readonly string[], superseding: string | null): Reply {
    const [name, key = '', first = '', second = ''] = command;
    if (name === 'PUBLISH') return this.onPublish(key, first);
    if (key.endsWith(queueEnd)) {
      const lock = key.slice(1, -queueEnd.length);
      if (name === 'ZADD') this.everWaited.set(second, Number(first));
      const isSuperseded = name === 'ZREM' && superseding !== null && superseding !== first;
      if (isSuperseded && canBeSuperseded(first) && this.#isAlive(lock, first))
        this.preemptedAt.set(lock, this.trueTime);
    }
    return runCommand(this.#store, command);
  }

  #setBesideMark(fields: Readonly<Record<string, string>>): void {
    const known = this.#store.hash(this.#markKey) ?? new Map<string, string>();
    for (const [name, value] of Object.entries(fields)) known.set(name, value);
    this.#store.set(this.#markKey, known, null);
  }

  #isAlive(lock: string, id: string): boolean {
    const isQueued = this.#store.sortedSet(beside(lock, 'queue'))?.get(id) !== undefined;
    const seenAt = this.#store.sortedSet(beside(lock, 'waiters'))?.get(id)?.score ?? 0;
    return isQueued && seenAt > this.now - silentMs;
  }

  #holdersIn(holdersKey: string): SimHolder[] {
    const { now } = this;
    const members = this.#store.sortedSet(holdersKey)?.members ?? [];
    return members.flatMap(({ member, score }) => {
      if (score <= now) return [];
      const [, slot, value = ''] = /^(\d+) (.*)$/s.exec(member) ?? [];
      return [{ slot: Number(slot), value, endsAt: score }];
    });
  }

  #factsOf(key: string, kind: string): (readonly [string, string])[] {
    const facts = [...(this.#store.hash(beside(key, 'facts:history')) ?? [])];
    return facts.flatMap(([field, fact]) =>
      field.startsWith(kind) ? [[field.slice(kind.length), fact] as const] : [],
    );
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

  #trueTimeAt(wallMs: number): number {
    return (wallMs - epochMs - this.#wallOffsetMs) / this.#rate;
  }
}

const queueEnd = '}:queue';

function has(value: string): (holder: SimHolder) => boolean {
  return (holder) => holder.value === value;
}

function canBeSuperseded(id: string): boolean {
  return parseWaiterId(id).traits.includes('supersede');
}
