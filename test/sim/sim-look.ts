// What a query reads from the memory of a simulated server: src/redis/scripts/look.lua in
// TypeScript. It writes nothing. The contract suite runs on this and on real servers.

import { isMode } from '../../src/lock/value.ts';
import { freezeOf } from './sim-parts.ts';
import type { Reply, SimRedis } from './sim-redis.ts';

/**
 * For each lock {type, value or null, ms left, counter or null, {id, ms waited, ...}, {slot and
 * value, ms left, ...}, freeze or null, ms left}.
 */
export function runLook(redis: SimRedis, locks: readonly string[]): Reply {
  return locks.map((key) => {
    const value = redis.get(key);
    const remainingMs = value === null ? -2 : (redis.remainingMs(key) ?? -1);
    const waiters = redis
      .queueOf(key)
      .living(redis.now)
      .flatMap(({ id, arrival }) => [id, Math.max(0, Math.floor(redis.now - arrival / 1000))]);
    const holders = value === null || !isMode(value) ? [] : redis.holdersOf(key).living(redis.now);
    return [
      value === null ? 'none' : 'string',
      value,
      remainingMs,
      redis.get(`{${key}}:fence`),
      waiters,
      holders.flatMap(({ slot, value, endsAt }) => [
        `${slot} ${value}`,
        Math.floor(endsAt - redis.now),
      ]),
      ...freezeOn(redis, key),
    ];
  });
}

function freezeOn(redis: SimRedis, key: string): [string | null, number] {
  const freeze = redis.get(freezeOf(key));
  return [freeze, freeze === null ? -2 : (redis.remainingMs(freezeOf(key)) ?? -1)];
}
