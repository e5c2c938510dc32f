// What the four plain scripts do to the memory of a simulated server: src/redis/scripts.ts in TypeScript. The contract suite runs on
// this and on real servers, so that it cannot lie.

import { has, leadersOf, told } from './sim-joint-parts.ts';
import type { Reply, SimRedis, Words } from './sim-redis.ts';

export type PlainScript = 'acquire' | 'extend' | 'heal' | 'release';

export function runPlain(redis: SimRedis, script: PlainScript, keys: readonly string[], words: Words): Reply {
  const [key = '', counter = ''] = keys;
  const value = String(words[0]);
  const [ttlMs = 0, keepMs = 0, fence = 0] = words.slice(1, 4).map(Number);
  switch (script) {
    case 'acquire':
      return acquire(redis, key, counter, value, ttlMs, keepMs, words.slice(3));
    case 'extend':
      return extend(redis, key, counter, value, ttlMs, keepMs, fence);
    case 'heal':
      return heal(redis, key, counter, value, ttlMs, keepMs, fence);
    case 'release':
      redis.record(String(words[6] ?? ''), String(words[5] ?? ''));
      return release(redis, key, value, ttlMs, words.slice(2));
  }
}

function acquire(
  redis: SimRedis,
  key: string,
  counter: string,
  value: string,
  ttlMs: number,
  keepMs: number,
  place: Words,
): Reply {
  const { flaws, now, trueTime } = redis;
  const [id = '', arrival = '', channels = ''] = place.map(String);
  const error = keepMs > 0 ? redis.corrupt(counter) : null;
  if (error !== null) return error;
  const queue = redis.queueOf(key);
  let head = queue.first(now);
  const holder = redis.get(key);
  const remainingMs = holder === null ? -2 : (redis.remainingMs(key) ?? -1);
  const refuse = (by: string): Reply => {
    if (id !== '') queue.see(id, Number(arrival), now, trueTime);
    return [0, by, remainingMs, id === '' ? -1 : queue.rankOf(id), ...redis.time()];
  };
  const isOurs = holder === value && !flaws.has('acquire-ignores-own-value');
  const isGrabbed = flaws.has('acquire-overwrites-expiring') && remainingMs < ttlMs / 4;
  if (holder !== null && !isOurs && !isGrabbed) return refuse(told(holder));
  if (holder === null && id !== '') {
    queue.see(id, Number(arrival), now, trueTime);
    head = queue.head(now);
  }
  while (holder === null && head !== null && head !== id && !flaws.has('acquire-jumps-the-queue')) {
    const hasJustAsked = queue.seenAt(head) > now - 500 && !flaws.has('refusal-always-calls');
    if (hasJustAsked || redis.hears(channels, head)) return refuse('');
    queue.forget(head);
    head = queue.head(now);
  }
  if (id !== '') queue.forget(id);
  redis.set(key, value, ttlMs);
  if (keepMs === 0) return [1, 0];
  const fence = redis.countOf(counter) + 1;
  redis.set(counter, String(fence), keepMs);
  return [1, fence];
}

function extend(
  redis: SimRedis,
  key: string,
  counter: string,
  value: string,
  ttlMs: number,
  keepMs: number,
  fence: number,
): Reply {
  const holder = redis.get(key);
  if (keepMs > 0 && redis.flaws.has('fence-raised-without-owner-check')) {
    redis.raise(counter, fence, keepMs);
    if (holder !== value) return [1, ...redis.time()];
  }
  if (holder === null && !redis.flaws.has('extend-revives')) return [-1];
  if (holder !== null && holder !== value && !redis.flaws.has('extend-without-comparing')) return [0];
  redis.set(key, value, ttlMs);
  const error = keepMs > 0 ? redis.corrupt(counter) : null;
  if (error !== null) return error;
  if (keepMs > 0) redis.raise(counter, fence, keepMs);
  return [1, ...redis.time()];
}

function heal(
  redis: SimRedis,
  key: string,
  counter: string,
  value: string,
  ttlMs: number,
  keepMs: number,
  fence: number,
): Reply {
  const holder = redis.get(key);
  if (holder !== null && holder !== value && !redis.flaws.has('heal-overwrites')) return 0;
  redis.set(key, value, ttlMs);
  const error = keepMs > 0 ? redis.corrupt(counter) : null;
  if (error !== null) return error;
  if (keepMs > 0) redis.raise(counter, fence, keepMs);
  return 1;
}

function release(redis: SimRedis, key: string, value: string, keepMs: number, place: Words): Reply {
  const { flaws, now, trueTime } = redis;
  const [id = '', arrival = '', channels = ''] = place.map(String);
  const queue = redis.queueOf(key);
  const holder = redis.get(key);
  const isOurs = holder === value || (holder !== null && flaws.has('release-without-comparing'));
  if (isOurs) redis.set(key, keepMs > 0 ? holder : null, keepMs);
  const leaves = id !== '' && arrival === '';
  const leaderCount = leaves ? leadersOf(redis, key, id) : null;
  if (leaves) queue.forget(id);
  else if (id !== '') queue.see(id, Number(arrival), now, trueTime);
  const known = isOurs ? 0 : leaderCount;
  if (known !== null || (redis.get(key) === null && flaws.has('release-always-calls'))) {
    if (flaws.has('release-calls-everybody')) for (const one of queue.places()) redis.hears(channels, one.id);
    let head = queue.first(now);
    const isCalled = () => head !== null && (head !== id || flaws.has('release-calls-oneself'));
    while (!known && isCalled() && !flaws.has('release-calls-nobody') && !redis.hears(channels, head as string)) {
      queue.forget(head as string);
      head = queue.first(now);
    }
    const isOpen = ['shared', null].includes(redis.get(key)) && !flaws.has('sharer-called-alone');
    const behind = head !== null && head !== id && has(head, 'shared') && isOpen ? queue.waiters(now).slice(1) : [];
    for (const [index, other] of flaws.has('release-calls-nobody') ? [] : behind.entries()) {
      if (other === id || !has(other, 'shared')) break;
      if (index + 1 >= (known ?? 0) && !redis.hears(channels, other)) queue.forget(other);
    }
  }
  return isOurs ? 1 : holder === null ? -1 : 0;
}
