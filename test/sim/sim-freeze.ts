// The effects of freeze.lua and thaw.lua of src/redis/scripts/ on a simulated server, in
// TypeScript.

import { callFront, told } from './sim-parts.ts';
import type { Reply, SimRedis, Words } from './sim-redis.ts';

export type FreezeScript = 'freeze' | 'thaw';

export function runFreeze(
  redis: SimRedis,
  script: FreezeScript,
  keys: readonly string[],
  args: Words,
): Reply {
  return script === 'freeze' ? freeze(redis, keys, args) : thaw(redis, keys, args);
}

function freeze(redis: SimRedis, [key = '']: readonly string[], args: Words): Reply {
  const [value, ms] = [String(args[0]), Number(args[1])];
  const standing = redis.get(key);
  if (standing !== null && standing !== value) return [0, told(standing)];
  const endsMs = redis.flaws.has('freeze-forgotten') ? 50 : ms === 0 ? null : ms;
  redis.set(key, value, endsMs);
  return [1, ''];
}

function thaw(redis: SimRedis, keys: readonly string[], args: Words): Reply {
  const [lock = '', , , , , key = ''] = keys;
  const [value, channel] = args.map(String);
  const standing = redis.get(key);
  if (standing === null) return -1;
  if (standing !== value && !redis.flaws.has('thaw-without-comparing')) return 0;
  redis.set(key, null, null);
  callFront(redis, lock, channel ?? '', '', 0);
  return 1;
}
