// The effects of the scripts of a lock on the memory of a simulated server: src/redis/scripts/*.lua
// in TypeScript. The contract suite runs on this and on real servers. The longest script, acquire,
// has a file of its own.

import { Acquisition } from './sim-acquire.ts';
import {
  callFront,
  corruptAmong,
  counterOf,
  has,
  hold,
  last,
  leadersOf,
  type State,
  shown,
  slotCountOf,
  standIn,
} from './sim-parts.ts';
import type { Reply, SimRedis, Words } from './sim-redis.ts';
import { removeStart } from './sim-skips.ts';

export type LockScript = 'acquire' | 'extend' | 'repair' | 'release';

export function runScript(
  redis: SimRedis,
  script: LockScript,
  keys: readonly string[],
  args: Words,
): Reply {
  switch (script) {
    case 'acquire':
      return new Acquisition(redis, keys, args).run();
    case 'extend':
      return extend(redis, keys, args);
    case 'repair':
      return repair(redis, keys, args);
    case 'release':
      return release(redis, keys, args);
  }
}

function extend(redis: SimRedis, keys: readonly string[], args: Words): Reply {
  const [ttlMs, keepMs, fence] = args.slice(1, 4).map(Number) as [number, number, number];
  const stand = standIn(args, 4);
  const arrival = String(args[6] ?? '');
  const { flaws } = redis;
  const states = keys.map((key) => shown(redis, key, stand));
  if (keepMs > 0 && flaws.has('fence-raised-without-owner-check')) {
    for (const key of keys) redis.raise(counterOf(key), fence, keepMs);
    if (!states.every((state) => state === 'ours')) return [1, ...redis.time(), ''];
  }
  if (states.includes('taken') && !flaws.has('extend-without-comparing')) return [0];
  if (states.includes('missing') && !flaws.has('extend-revives')) return [-1];
  let replacedBy = '';
  for (const key of keys) {
    const queue = redis.queueOf(key);
    if (stand.mode === '') redis.set(key, stand.value, ttlMs);
    else hold(redis, key, stand, ttlMs);
    const living = redis.holdersOf(key).living(redis.now);
    const slotCount = slotCountOf(stand.mode);
    const isAsked =
      arrival !== '' && (slotCount === 0 || (stand.slot === 1 && living.length >= slotCount));
    for (const other of isAsked ? queue.waiters(redis.now) : []) {
      const isInTheWay = stand.mode !== 'shared' || !has(other, 'shared');
      const isNewer =
        queue.arrivalOf(other) > Number(arrival) || redis.flaws.has('replaced-for-any-waiter');
      const isWanted = has(other, 'replace') || redis.flaws.has('replaced-for-any-waiter');
      if (isInTheWay && isNewer && isWanted) replacedBy = other;
    }
  }
  const error = corruptAmong(redis, keys, keepMs);
  if (error !== null) return error;
  if (keepMs > 0) for (const key of keys) redis.raise(counterOf(key), fence, keepMs);
  return [1, ...redis.time(), replacedBy];
}

function repair(redis: SimRedis, keys: readonly string[], args: Words): Reply {
  const [ttlMs, keepMs, fence] = args.slice(1, 4).map(Number) as [number, number, number];
  const stand = standIn(args, 4);
  const slotCount = slotCountOf(stand.mode);
  if (slotCount > 0 && (stand.slot < 1 || stand.slot > slotCount)) return 0;
  const isTaken = keys.some((key) => shown(redis, key, stand) === 'taken');
  if (isTaken && !redis.flaws.has('repair-overwrites')) return 0;
  for (const key of keys) {
    const isStale = stand.mode !== '' && redis.get(key) === null;
    if (isStale) redis.holdersOf(key).clear();
    hold(redis, key, stand, ttlMs);
  }
  const error = corruptAmong(redis, keys, keepMs);
  if (error !== null) return error;
  if (keepMs > 0) for (const key of keys) redis.raise(counterOf(key), fence, keepMs);
  return 1;
}

function release(redis: SimRedis, keys: readonly string[], args: Words): Reply {
  const { flaws, now } = redis;
  const keepMs = Number(args[1]);
  const [id, arrival] = [String(args[2]), String(args[3])];
  const stand = standIn(args, 4);
  const line = String(args[6]);
  for (const key of keys) {
    if (!line.startsWith('undo ')) redis.record(key, line);
    removeStart(redis, key, line);
  }
  let best: State = 'missing';
  for (const [index, key] of keys.entries()) {
    const [queue, holders] = [redis.queueOf(key), redis.holdersOf(key)];
    const isSkipped = flaws.has('names-released-first-only') && index > 0;
    const found = isSkipped ? 'missing' : shown(redis, key, stand);
    const isSparedByNone =
      found === 'taken' && stand.mode === '' && flaws.has('release-without-comparing');
    const state = isSparedByNone ? 'ours' : found;
    let isFreed = state === 'ours';
    const beforeMs = stand.mode === 'shared' ? last(redis, key) : 0;
    if (state === 'ours' || best === 'missing') best = state;
    if (state === 'ours' && stand.mode === '') {
      redis.set(key, keepMs > 0 ? redis.get(key) : null, keepMs);
    } else if (state === 'ours') {
      holders.remove(stand);
      if (keepMs > 0) holders.add({ ...stand, endsAt: now + keepMs });
      const lastMs =
        flaws.has('release-of-all-readers') && stand.mode === 'shared' ? 0 : last(redis, key);
      redis.set(key, lastMs > 0 ? stand.mode : null, lastMs);
      if (lastMs === 0) holders.clear();
      isFreed =
        lastMs <= keepMs ||
        (lastMs < beforeMs && !flaws.has('earlier-end-untold')) ||
        stand.mode !== 'shared';
    }
    const leaves = id !== '' && arrival === '';
    let known = leaves ? leadersOf(redis, key, id) : null;
    if (leaves) queue.forget(id);
    else if (id !== '') queue.see(id, Number(arrival), now, redis.trueTime);
    const first = isFreed ? queue.first(now) : null;
    if (first !== null && (stand.mode !== 'shared' || !has(first, 'shared'))) known = 0;
    if (known === null && redis.get(key) === null && flaws.has('release-always-wakes')) known = 0;
    if (known === null || flaws.has('release-wakes-none')) continue;
    const channel = String(args[7 + index]);
    if (flaws.has('release-wakes-all'))
      for (const one of queue.places()) redis.hears(channel, one.id);
    callFront(redis, key, channel, flaws.has('release-wakes-itself') ? '' : id, known);
  }
  return best === 'ours' ? 1 : best === 'taken' ? 0 : -1;
}
