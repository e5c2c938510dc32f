// What src/redis/scripts/record.lua does for runs that are refused and do not wait, as far as the
// count of each host goes.

import type { SimRedis, Words } from './sim-redis.ts';

/** By host, how many of its runs were refused; the last one, and when, by the server's clock. */
export type Skips = Map<
  string,
  { readonly count: number; readonly run: string; readonly lastAtMs: number }
>;

const mostHosts = 100;

/** `words`: line, host, run, 1 if it was refused before; none: the claim leaves nothing. */
export function recordSkip(redis: SimRedis, key: string, args: Words): void {
  const [line = '', host = '', run = ''] = args.map(String);
  if (line === '') return;
  const ofKey: Skips = redis.skips.get(key) ?? new Map();
  const known = ofKey.get(host);
  const [oldest] = [...ofKey].sort(([, a], [, b]) => a.lastAtMs - b.lastAtMs);
  if (!known && oldest && ofKey.size >= mostHosts) ofKey.delete(oldest[0]);
  const count = (known?.count ?? 0) + (known?.run === run ? 0 : 1);
  ofKey.set(host, { count, run, lastAtMs: redis.now });
  redis.skips.set(key, ofKey);
  const remainingMs = redis.remainingMs(key);
  if (redis.flaws.has('skip-lengthens-the-lock') && remainingMs !== null)
    redis.set(key, redis.get(key), remainingMs + 1_000);
  if (redis.flaws.has('skip-joins-the-queue'))
    redis.queueOf(key).see(run, redis.now * 1000, redis.now, redis.trueTime);
}

/** For a run that is granted the lock. */
export function removeSkip(redis: SimRedis, key: string, args: Words): void {
  const [, host = '', run = '', repeated] = args.map(String);
  const known = redis.skips.get(key)?.get(host);
  if (repeated !== '1' || known?.run !== run) return;
  if (known.count === 1) redis.skips.get(key)?.delete(host);
  else redis.skips.get(key)?.set(host, { ...known, count: known.count - 1, run: '-' });
}
