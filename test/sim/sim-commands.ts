// The commands of programs that speak the older protocol by themselves, each a step of its own, as a Redis server does them. The surprise:
// GETSET and SETNX leave a key that never expires, whatever it was before.

import type { SimRedis } from './sim-redis.ts';

/** Returns what the server answers; undefined for a command that it does not know. */
export function runCommand(
  redis: SimRedis,
  name: string,
  words: readonly (string | number)[],
): unknown {
  const [key = '', value = ''] = words.map(String);
  const before = redis.get(key);
  switch (name) {
    case 'GET':
      return before;
    case 'SETNX':
      if (before === null) redis.put(key, value);
      return before === null ? 1 : 0;
    case 'GETSET':
      redis.put(key, value);
      return before;
    case 'DEL':
      redis.put(key, null);
      return before === null ? 0 : 1;
    default:
      return undefined;
  }
}
