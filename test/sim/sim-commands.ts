// The commands of foreign programs of the older protocol, each a step of its own, as a Redis server
// runs them. *Note:* GETSET and SETNX leave a key without an expiry, whatever it had before.

import type { SimRedis } from './sim-redis.ts';

/** Returns the reply of the server; undefined for a command that it does not know. */
export function runCommand(
  redis: SimRedis,
  name: string,
  args: readonly (string | number)[],
): unknown {
  const [key = '', value = ''] = args.map(String);
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
