// What src/redis/scripts/record.lua does for runs that are refused and do not wait, as far as the
// count of each host goes.

import type { SimRedis, Words } from './sim-redis.ts';

/** `words`: line, host, run, 1 if it was refused before; none: the claim leaves nothing. */
export function recordSkip(redis: SimRedis, key: string, args: Words): void {
  const [line = '', host = '', run = ''] = args.map(String);
  if (line === '') return;
  const ofKey = redis.skips.get(key) ?? new Map<string, { count: number; run: string }>();
  const known = ofKey.get(host);
  ofKey.set(host, { count: (known?.count ?? 0) + (known?.run === run ? 0 : 1), run });
  redis.skips.set(key, ofKey);
}

/** For a run that is granted the lock. */
export function removeSkip(redis: SimRedis, key: string, args: Words): void {
  const [, host = '', run = '', repeated] = args.map(String);
  const known = redis.skips.get(key)?.get(host);
  if (repeated !== '1' || known?.run !== run) return;
  if (known.count === 1) redis.skips.get(key)?.delete(host);
  else redis.skips.get(key)?.set(host, { count: known.count - 1, run: '-' });
}
