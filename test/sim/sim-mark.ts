// The effect of mark.lua of src/redis/scripts/ on a simulated server, in TypeScript.

import type { Reply, SimRedis, Words } from './sim-redis.ts';

/** The mark of a data set; `since` is by the clock of the server. */
export interface SimMark {
  readonly id: string;
  readonly since: number;
}

const yearMs = 365 * 24 * 60 * 60 * 1000;

/** That of a server which has been in use for long, as those of a world are at its beginning. */
export function oldMark(redis: SimRedis): SimMark {
  return { id: 'old', since: redis.now - yearMs };
}

export function runMark(redis: SimRedis, [newId = '']: Words): Reply {
  const { mark, now } = redis;
  const forMs = mark === null ? -1 : now - mark.since;
  if (mark !== null && forMs >= 0) return [mark.id, forMs];
  if (newId === '') return ['', 0];
  redis.mark = { id: mark?.id ?? String(newId), since: now };
  return [redis.mark.id, 0];
}
