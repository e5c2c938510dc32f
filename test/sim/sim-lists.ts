// The effect of lists.lua of src/redis/scripts/ on a simulated server, in TypeScript.

import type { Reply, SimRedis, Words } from './sim-redis.ts';

/** The list of masters of a host; `writtenAt` is by the clock of the server. */
export interface SimList {
  readonly writtenAt: number;
  readonly text: string;
}

const mostHosts = 100;
const mostMs = 7 * 24 * 60 * 60 * 1000;

export function runLists(redis: SimRedis, [host = '', list = '']: Words): Reply {
  const { lists, mark, now } = redis;
  if (mark === null) return 0;
  const entries = [...lists].sort(([, a], [, b]) => b.writtenAt - a.writtenAt);
  if (list === '') {
    const seen = new Set<string>();
    return entries.slice(0, mostHosts).flatMap(([name, { writtenAt, text }]) => {
      if (host !== '' && name !== host && seen.has(text)) return [];
      seen.add(text);
      return [[name, now - writtenAt, text]];
    });
  }
  const others = entries.filter(([name]) => name !== host);
  for (const [at, [name, { writtenAt }]] of others.entries())
    if (at + 1 >= mostHosts || now - writtenAt > mostMs) lists.delete(name);
  lists.set(String(host), { writtenAt: now, text: String(list) });
  return 1;
}
