// The effect of promoted.lua of src/redis/scripts/ on a simulated server, in TypeScript.

import type { Reply, SimRedis, Words } from './sim-redis.ts';

const yearMs = 365 * 24 * 60 * 60 * 1000;

export function runPromoted(redis: SimRedis, key: string, args: Words): Reply {
  const [id = '', isRecording = ''] = args.map(String);
  const [known, since] = redis.get(key)?.split(' ') ?? [];
  const isKnown = known === id || redis.flaws.has('promotion-known-for-any-replica');
  const knownMs = isKnown && known !== undefined ? redis.now - Number(since) : -1;
  if (knownMs >= 0) return knownMs;
  if (isRecording === '1') redis.set(key, `${id} ${redis.now}`, yearMs);
  return 0;
}
