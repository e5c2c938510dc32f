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
    'acquire.setnx.lua',
    'endsAt + differenceMs - now_ms()',
    'endsAt - now_ms()',
  ),
  inScript(
    'time-without-the-second',
    'the written time has no second for clocks that differ',
    within(20, 'older-protocol', 'honesty', 'foreign'),
    'put.setnx.lua',
    'math.floor(now_ms() / unit) + math.ceil((ttl + differenceMs) / unit) + 1',
    'math.floor((now_ms() + ttl) / unit)',
  ),
  inScript(
    'time-of-another-extended',
    'an extension overwrites the time of another',
    rarely(60, 'older-protocol', 'ownership'),
    'extend.setnx.lua',
    "if type(time) == 'table' or owner_of(time, KEYS[2]) ~= value then return {0} end\n",
    '',
  ),
  inScript(
    'time-of-another-released',
    'a release removes the time of another',
    within(20, 'older-protocol', 'ownership'),
    'release.setnx.lua',
    "if type(time) == 'table' or (time ~= value " +
      'and owner_of(time, KEYS[2]) ~= value) then return 0 end\n',
    '',
  ),
  inScript(
    'owner-counts-for-any-time',
    'an owner key counts as ownership of any time',
    within(60, 'older-protocol', 'ownership'),
    'time.setnx.lua',
    "string.sub(owner, 1, #time + 1) == time .. ' ' and string.sub(owner, #time + 2)",
    "string.match(owner, '^%S+ (.*)$') or false",
  ),
  inSource(
    'time-for-a-third-of-the-lease',
    'an extension writes less time than the lease that it confirms',
    within(10, 'older-protocol', 'honesty'),
    'redis/calls/protocol.ts',
    "call(scripts['extend.setnx'], claim, prefix, claim.value, claim.ttlMs, unitMs)",
    "call(scripts['extend.setnx'], claim, prefix, claim.value, Math.ceil(claim.ttlMs / 3), unitMs)",
  ),
  inSource(
    'time-in-the-other-unit',
    'milliseconds are written as if they were seconds',
    within(40, 'older-protocol', 'foreign'),
    'redis/calls/protocol.ts',
    "'setnx-ms': setnxCalls(1),",
    "'setnx-ms': setnxCalls(1_000),",
  ),
  inSource(
    'time-kept-after-the-release',
    'a release keeps others away for another ttl',
    within(10, 'older-protocol', 'litter'),
    'redis/calls/protocol.ts',
    'call(script, claim, prefix, claim.value, keepMs, unitMs, ...told)',
    'call(script, claim, prefix, claim.value, keepMs + claim.ttlMs, unitMs, ...told)',
  ),
];
