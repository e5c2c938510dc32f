// What a query reads from the memory of a simulated server: src/redis/scripts/look.lua in
// TypeScript. It writes nothing. The contract suite runs on this and on real servers.

import { parseRecord } from '../../src/lock/history.ts';
import { isMode, parseValue } from '../../src/lock/value.ts';
import { freezeOf } from './sim-parts.ts';
import type { Reply, SimRedis } from './sim-redis.ts';

/**
 * For each lock {type, value or null, ms left, counter or null, {id, ms waited, ...}, {slot and
 * value, ms left, ...}, freeze or null, ms left, {token, when its run ended in ms, ...}}.
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
      endingsOn(redis, key, isMode(value ?? '') ? holders.map((one) => one.value) : [value ?? '']),
    ];
  });
}

/** As src/redis/scripts/endings.lua. `values`: of the holders. */
export function endingsOn(
  redis: SimRedis,
  key: string,
  values: readonly string[],
): (string | number)[] {
  const tokens = values.map((value) => parseValue(value).token);
  const first = new Map<string, number>();
  for (const { line, takenAtMs } of redis.entriesOf(key)) {
    const token = parseRecord(line)?.token;
    if (token && tokens.includes(token) && !first.has(token)) first.set(token, takenAtMs);
  }
  return [...first].flat();
}

function freezeOn(redis: SimRedis, key: string): [string | null, number] {
  const freeze = redis.get(freezeOf(key));
  return [freeze, freeze === null ? -2 : (redis.remainingMs(freezeOf(key)) ?? -1)];
}
