// The effect of `acquire` on the memory of a simulated server: src/redis/scripts/acquire.lua in
// TypeScript, step by step, without its first lines, which are a shortcut.

import { isMode } from '../../src/lock/value.ts';
import {
  callFront,
  corruptAmong,
  counterOf,
  freezeOf,
  has,
  hold,
  leadersOf,
  type Stand,
  slotCountOf,
  standIn,
  told,
} from './sim-parts.ts';
import type { Reply, SimRedis, Words } from './sim-redis.ts';
import { recordSkip, recordStart, removeSkip } from './sim-skips.ts';

export class Acquisition {
  readonly #redis: SimRedis;
  readonly #keys: readonly string[];
  readonly #words: Words;
  readonly #stand: Stand;
  readonly #id: string;
  readonly #arrival: number;
  readonly #slotCount: number;
  #holder: string | null = null;
  #blockedMs = 0;

  constructor(redis: SimRedis, keys: readonly string[], args: Words) {
    this.#redis = redis;
    this.#keys = keys;
    this.#words = args;
    this.#stand = standIn(args, 5);
    this.#id = String(args[3]);
    this.#arrival = Number(args[4]);
    this.#slotCount = slotCountOf(this.#stand.mode);
  }

  run(): Reply {
    const redis = this.#redis;
    const { flaws, now } = redis;
    const { value, mode, slot } = this.#stand;
    const error = corruptAmong(redis, this.#keys, Number(this.#words[2]));
    if (error !== null) return error;
    const known = new Map<string, number>();
    const newer = this.#newest(known);
    for (const [index, key] of this.#keys.entries()) {
      if (newer !== null) this.#supersede(key, this.#id, known);
      const knownCount = known.get(key);
      if (knownCount !== undefined)
        callFront(redis, key, this.#channel(index), this.#id, knownCount);
    }
    if (newer !== null) return this.#answer('', 0, newer);
    const frozen = this.#frozenBy();
    if (frozen !== null && has(this.#id, 'replace')) {
      for (const key of this.#keys) redis.queueOf(key).forget(this.#id);
    } else if (this.#id !== '') {
      for (const key of this.#keys)
        redis.queueOf(key).see(this.#id, this.#arrival, now, redis.trueTime);
    }
    const free = new Set<string>();
    const ours = new Set<string>();
    const taken = new Map<number, number>();
    for (const key of this.#keys) {
      const holder = redis.get(key);
      const others = redis.holdersOf(key);
      if (holder === null) {
        free.add(key);
      } else if (holder !== (mode === '' ? value : mode) && !this.#overlooks(key, holder)) {
        this.#block(told(holder), redis.remainingMs(key) ?? -1);
        this.#callHolders(key, holder);
      } else {
        if (mode === '') ours.add(key);
        for (const one of mode === '' ? [] : others.living(now)) {
          if (one.value === value) ours.add(key);
          else taken.set(one.slot, Math.min(taken.get(one.slot) ?? one.endsAt, one.endsAt));
        }
      }
    }
    const slots = this.#freeSlots(taken);
    if (this.#slotCount > 0 && slots.length === 0) {
      this.#block(mode, Math.min(...taken.values()) - now);
      for (const key of this.#keys) this.#callHolders(key, mode, 1);
    }
    if (frozen !== null && !ours.has(this.#keys[0] ?? '')) {
      this.#holder = null;
      this.#block(told(frozen.value), frozen.remainingMs);
    }
    if (this.#holder !== null && flaws.has('names-first-only') && free.has(this.#keys[0] ?? ''))
      return this.#grant([...free]);
    if (this.#holder !== null) {
      if (flaws.has('names-one-by-one')) {
        for (const key of free) {
          redis.holdersOf(key).clear();
          hold(redis, key, this.#stand, Number(this.#words[1]));
        }
      }
      return this.#answer(this.#holder, this.#blockedMs);
    }
    for (const key of this.#keys) {
      if (!ours.has(key) && this.#isLetFirst(key, free.has(key))) {
        return this.#answer('', Math.max(0, redis.remainingMs(key) ?? 0));
      }
    }
    const isAnySlotGiven = flaws.has('slot-not-looked-at') || flaws.has('slots-counted');
    if (this.#slotCount > 0 && !slots.includes(slot) && !isAnySlotGiven) {
      return this.#answer(mode, 0, '', slots);
    }
    return this.#grant(this.#keys);
  }

  /** The freeze of any of the names; null: none is frozen. */
  #frozenBy(): { readonly value: string; readonly remainingMs: number } | null {
    const redis = this.#redis;
    if (redis.flaws.has('freeze-seen-as-free')) return null;
    for (const key of this.#keys.toReversed()) {
      const value = redis.get(freezeOf(key));
      if (value !== null) return { value, remainingMs: redis.remainingMs(freezeOf(key)) ?? -1 };
    }
    return null;
  }

  /**
   * A preemptible waiter removes the older ones; returns the newer one for which it is removed
   * itself, or null.
   */
  #newest(known: Map<string, number>): string | null {
    const [redis, id] = [this.#redis, this.#id];
    let newer: string | null = null;
    const comesAfter = (arrival: number, other: string) =>
      arrival > this.#arrival || (arrival === this.#arrival && other > id);
    for (const [index, key] of this.#keys.entries()) {
      const queue = redis.queueOf(key);
      const waiters = queue.waiters(redis.now);
      if (!has(id, 'supersede')) continue;
      for (const other of waiters) {
        if (other === id || !has(other, 'supersede')) continue;
        if (redis.flaws.has('superseded-keeps-its-position')) continue;
        if (comesAfter(queue.arrivalOf(other), other)) {
          newer = other;
        } else {
          this.#supersede(key, other, known);
          redis.hears(this.#channel(index), other);
        }
      }
      for (const one of redis.flaws.has('served-is-forgotten') ? [] : queue.served()) {
        if (one.id !== id && comesAfter(one.arrival, one.id)) newer = one.id;
      }
    }
    return newer;
  }

  /**
   * `known`: by key, how many waiters are known to be at the front of its queue, where others join
   * it.
   */
  #supersede(key: string, id: string, known: Map<string, number>): void {
    const redis = this.#redis;
    const leaderCount = leadersOf(redis, key, id);
    if (leaderCount !== null && !known.has(key)) known.set(key, leaderCount);
    redis.queueOf(key).forget(id);
    redis.preemptedAt.set(key, redis.trueTime);
  }

  #overlooks(key: string, holder: string): boolean {
    const { flaws } = this.#redis;
    const { mode } = this.#stand;
    if (flaws.has('acquire-overwrites-expiring') && mode === '') {
      return (this.#redis.remainingMs(key) ?? -1) < Number(this.#words[1]) / 4;
    }
    if (flaws.has('shared-beside-a-writer') && mode === 'shared') return !isMode(holder);
    if (flaws.has('any-number-of-slots') && this.#slotCount > 0) return holder.startsWith('slots ');
    return flaws.has('writer-beside-readers') && mode === '' && holder === 'shared';
  }

  #freeSlots(taken: ReadonlyMap<number, number>): number[] {
    const all = Array.from({ length: this.#slotCount }, (_, index) => index + 1);
    if (this.#redis.flaws.has('slots-counted'))
      return this.#heldCount() < this.#slotCount ? all : [];
    return all.filter((number) => !taken.has(number));
  }

  #heldCount(): number {
    const [key = ''] = this.#keys;
    return this.#redis.holdersOf(key).living(this.#redis.now).length;
  }

  /** Whether a waiter ahead gets the lock first; one that misses its wake-up loses its position. */
  #isLetFirst(key: string, isFree: boolean): boolean {
    const redis = this.#redis;
    if (redis.flaws.has('acquire-jumps-the-queue')) return false;
    const queue = redis.queueOf(key);
    const channel = this.#channel(this.#keys.indexOf(key));
    for (const other of queue.waiters(redis.now)) {
      if (other === this.#id) return false;
      if (this.#isReader() && (has(other, 'shared') || redis.flaws.has('readers-pass-the-writer')))
        continue;
      const isWoken = isFree || this.#slotCount > 0;
      const hasJustAsked =
        queue.seenAt(other) > redis.now - 500 && !redis.flaws.has('refusal-always-wakes');
      if (!isWoken || hasJustAsked || redis.hears(channel, other)) return true;
      queue.forget(other);
    }
    return false;
  }

  #grant(keys: readonly string[]): Reply {
    const redis = this.#redis;
    const { flaws } = redis;
    const [ttlMs, keepMs] = [Number(this.#words[1]), Number(this.#words[2])];
    for (const key of keys) {
      const queue = redis.queueOf(key);
      if (redis.get(key) === null) redis.holdersOf(key).clear();
      hold(redis, key, this.#stand, ttlMs);
      this.#callNext(key);
      removeSkip(redis, key, this.#skipWords());
      recordStart(redis, key, this.#words.slice(9 + this.#keys.length));
      if (this.#id !== '') queue.forget(this.#id);
      if (has(this.#id, 'supersede')) queue.serve(this.#id, this.#arrival, redis.now);
    }
    if (keepMs === 0) return [1, 0];
    const counters = keys.map(counterOf);
    const counted = flaws.has('fence-of-the-first-name') ? counters.slice(0, 1) : counters;
    const fence = Math.max(...counted.map((counter) => redis.countOf(counter))) + 1;
    for (const counter of counted) redis.set(counter, String(fence), keepMs);
    return [1, fence];
  }

  /** Where there is room for one more holder, the next waiter is woken. */
  #callNext(key: string): void {
    const redis = this.#redis;
    const queue = redis.queueOf(key);
    const heldCount = redis.holdersOf(key).living(redis.now).length;
    const hasRoom = this.#isReader() || (this.#slotCount > 0 && heldCount < this.#slotCount);
    const waiters = queue.waiters(redis.now);
    const behind = waiters.includes(this.#id) ? waiters.slice(waiters.indexOf(this.#id) + 1) : [];
    if (!hasRoom || redis.flaws.has('reader-wakes-no-reader')) return;
    const channel = this.#channel(this.#keys.indexOf(key));
    for (const other of behind) {
      if (this.#isReader() && !has(other, 'shared')) return;
      if (redis.hears(channel, other)) return;
      queue.forget(other);
    }
  }

  #answer(holder: string, remainingMs: number, by = '', slots: readonly number[] = []): Reply {
    for (const key of this.#keys) recordSkip(this.#redis, key, this.#skipWords());
    const hasPlace = this.#id !== '' && by === '';
    const places = hasPlace
      ? this.#keys.map((key) => this.#redis.queueOf(key).rankOf(this.#id))
      : [];
    return [0, holder, remainingMs, Math.max(-1, ...places), ...this.#redis.time(), by, slots];
  }

  #block(holder: string, remainingMs: number): void {
    this.#holder ??= holder;
    if (this.#blockedMs >= 0)
      this.#blockedMs = remainingMs < 0 ? -1 : Math.max(this.#blockedMs, remainingMs);
  }

  /** All of them, or the one on this slot. */
  #callHolders(key: string, holder: string, slot: number | null = null): void {
    if (!has(this.#id, 'replace') || this.#frozenBy() !== null) return;
    const redis = this.#redis;
    const holders = isMode(holder)
      ? redis.holdersOf(key).living(redis.now)
      : [{ value: holder, slot: 0 }];
    const living = holders
      .filter((one) => slot === null || one.slot === slot)
      .map(({ value }) => value);
    const channel = this.#channel(this.#keys.indexOf(key));
    for (const value of living) redis.hears(channel, `holder:${value.split(' ')[0]}`);
  }

  #skipWords(): Words {
    return this.#words.slice(11 + this.#keys.length);
  }

  #isReader(): boolean {
    return this.#stand.mode === 'shared';
  }

  #channel(index: number): string {
    return String(this.#words[7 + index] ?? '');
  }
}
