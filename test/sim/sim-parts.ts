// The shared parts of the scripts on a simulated server: holders.lua, front.lua, told.lua and
// counter.lua of src/redis/scripts/ in TypeScript.

import { parseWaiterId, type Trait } from '../../src/lock/waiter-id.ts';
import type { SimRedis, Words } from './sim-redis.ts';

/** A claim in the arguments of a script. */
export interface Stand {
  readonly value: string;
  /** '': exclusive. */
  readonly mode: string;
  /** 0: none. */
  readonly slot: number;
}

export type State = 'ours' | 'taken' | 'missing';

export function has(id: string, trait: Trait): boolean {
  return parseWaiterId(id).traits.includes(trait);
}

export function slotCountOf(mode: string): number {
  return Number(/^slots (\d+)$/.exec(mode)?.[1] ?? 0);
}

export function counterOf(key: string): string {
  return `{${key}}:fence`;
}

export function freezeOf(key: string): string {
  return `{${key}}:freeze`;
}

/** In how many ms the last of the holders expires; 0: there is none. */
export function last(redis: SimRedis, key: string): number {
  return Math.max(
    0,
    ...redis
      .holdersOf(key)
      .living(redis.now)
      .map(({ endsAt }) => endsAt - redis.now),
  );
}

export function hold(
  redis: SimRedis,
  key: string,
  { value, mode, slot }: Stand,
  ttlMs: number,
): void {
  if (mode === '') return redis.set(key, value, ttlMs);
  const holders = redis.holdersOf(key);
  holders.expireAt(redis.now + ttlMs);
  holders.add({ slot, value, endsAt: redis.now + ttlMs });
  const lastMs = last(redis, key);
  if (redis.get(key) === null || !redis.flaws.has('mode-not-renewed')) redis.set(key, mode, lastMs);
  holders.expireAt(redis.now + lastMs);
}

export function shown(redis: SimRedis, key: string, { value, mode, slot }: Stand): State {
  const holder = redis.get(key);
  if (holder === null) return 'missing';
  if (mode === '') return holder === value ? 'ours' : 'taken';
  if (holder !== mode) return 'taken';
  for (const one of redis.holdersOf(key).living(redis.now)) {
    if (one.slot === slot && one.value === value) return 'ours';
    const isAnothers = one.slot === slot && slot !== 0 && !redis.flaws.has('slots-counted');
    if (isAnothers && !redis.flaws.has('repair-beside-the-slot-of-another')) return 'taken';
  }
  return 'missing';
}

/**
 * The number of waiters before it; null: waiters behind it may come to the front when it leaves.
 */
export function leadersOf(redis: SimRedis, key: string, id: string): number | null {
  const waiters = redis.queueOf(key).waiters(redis.now);
  const position = waiters.findIndex((other) => other === id || !has(other, 'shared'));
  return waiters[position] === id && (position === 0 || !has(id, 'shared')) ? position : null;
}

/**
 * Wakes the first waiter and, if it shares and could have the lock now, the sharing ones right
 * behind it; not those known to be awake, nor beyond `id`.
 */
export function callFront(
  redis: SimRedis,
  key: string,
  channel: string,
  id: string,
  known: number,
): void {
  const isOpen =
    [null, 'shared'].includes(redis.get(key)) && !redis.flaws.has('sharer-woken-alone');
  const queue = redis.queueOf(key);
  let sharerCount = 0;
  for (const [position, other] of queue.waiters(redis.now).entries()) {
    const shares = has(other, 'shared');
    if (other === id || (sharerCount > 0 && !(shares && isOpen))) return;
    if (position < known || redis.hears(channel, other)) {
      if (!shares) return;
      sharerCount += 1;
    } else {
      queue.forget(other);
    }
  }
}

export function standIn(args: Words, at: number): Stand {
  return { value: String(args[0]), mode: String(args[at]), slot: Number(args[at + 1]) };
}

/** What a refusal tells of a value. */
export function told(holder: string): string {
  return holder === '' ? '(an empty value)' : Buffer.from(holder).subarray(0, 1_024).toString();
}

/**
 * The error for the first of these locks whose counter is corrupt; null: none is, or no counter is
 * wanted.
 */
export function corruptAmong(
  redis: SimRedis,
  keys: readonly string[],
  keepMs: number,
): string | null {
  if (keepMs === 0) return null;
  return keys.map((key) => redis.corrupt(counterOf(key))).find((error) => error !== null) ?? null;
}
