// Mutants of the older protocol. Most are caught by ownership or honesty before a foreign program
// comes to harm, because these check the key and need no second program at the wrong moment. A
// mistake that shows in no fair world is not here: an extension that revives a lock is caught by
// the contract suite alone.

import { inScript, inSource, type Mutant, rarely, within } from './mutant.ts';

export const setnxMutants: readonly Mutant[] = [
  inScript(
    'time-taken-over-too-soon',
    'a foreign time counts as over without the allowance for clocks',
    within(20, 'older-protocol', 'ownership', 'foreign'),
    'setnx.lua',
    'leftMs = endsAt and endsAt - nowMs',
    'leftMs = endsAt and endsAt - differenceMs - nowMs',
  ),
  inScript(
    'time-without-the-second',
    'the written time has no second for clocks that differ',
    within(20, 'older-protocol', 'honesty', 'foreign'),
    'setnx.lua',
    'math.floor(nowMs / unit) + math.ceil((forMs + differenceMs) / unit) + 1',
    'math.floor((nowMs + forMs) / unit)',
  ),
  inScript(
    'time-of-another-extended',
    'an extension overwrites the time of another',
    rarely(60, 'older-protocol', 'ownership'),
    'setnx.lua',
    "if type(stamp) == 'table' or owner_of(stamp, KEYS[2]) ~= value then return {0} end\n",
    '',
  ),
  inScript(
    'time-of-another-released',
    'a release removes the time of another',
    within(20, 'older-protocol', 'ownership'),
    'setnx.lua',
    "local state = owned(redis.pcall('GET', KEYS[1]))",
    "local state = redis.pcall('GET', KEYS[1]) and 1 or -1",
  ),
  inScript(
    'owner-counts-for-any-time',
    'an owner key counts as ownership of any time',
    within(60, 'older-protocol', 'ownership'),
    'setnx.lua',
    "string.sub(owner, 1, #stamp + 1) == stamp .. ' ' and string.sub(owner, #stamp + 2)",
    "string.match(owner, '^%S+ (.*)$') or false",
  ),
  inScript(
    'time-for-a-third-of-the-lease',
    'an extension writes less time than the lease that it confirms',
    within(10, 'older-protocol', 'honesty'),
    'setnx.lua',
    "put(ttl)\n  return {1, 'masterTimeUs'",
    "put(math.ceil(ttl / 3))\n  return {1, 'masterTimeUs'",
  ),
  inSource(
    'time-in-the-other-unit',
    'milliseconds are written as if they were seconds',
    within(40, 'older-protocol', 'foreign'),
    'redis/calls/script-calls.ts',
    "'setnx-ms': 1,",
    "'setnx-ms': 1_000,",
  ),
  inSource(
    'time-kept-after-the-release',
    'a release keeps others away for another ttl',
    within(10, 'older-protocol', 'litter'),
    'redis/calls/script-calls.ts',
    '      keepMs,\n',
    '      keepMs: keepMs + claim.ttlMs,\n',
  ),
];
