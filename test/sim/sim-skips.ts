// What src/redis/scripts/record.lua does for runs that are refused and do not wait, as far as the
// count of each host goes, and for runs that begin.

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

/** By token, the line of a run that has begun. `words`: token and line; '' or none: no start. */
export function recordStart(redis: SimRedis, key: string, args: Words): void {
  const [token = '', line = ''] = args.map(String);
  if (line === '') return;
  const ofKey = redis.starts.get(key) ?? new Map<string, string>();
  redis.starts.set(key, ofKey.set(token, line));
}

/** `line`: of the run, or `undo <token>`. */
export function removeStart(redis: SimRedis, key: string, line: string): void {
  const [, undone, token] = /^(?:undo (\S+)|\{"v":1,"token":"([^"]*)".*)$/s.exec(line) ?? [];
  redis.starts.get(key)?.delete(undone ?? token ?? '');
}

/** For a run that is granted the lock. */
export function removeSkip(redis: SimRedis, key: string, args: Words): void {
  const [, host = '', run = '', repeated] = args.map(String);
  const known = redis.skips.get(key)?.get(host);
  if (repeated !== '1' || known?.run !== run) return;
  if (known.count === 1) redis.skips.get(key)?.delete(host);
  else redis.skips.get(key)?.set(host, { ...known, count: known.count - 1, run: '-' });
}
