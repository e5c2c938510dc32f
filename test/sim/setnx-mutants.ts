// Deliberate mistakes in the older protocol. The surprise: most are caught by ownership or honesty before a program of others comes to harm,
// because those look at what is at the key and need no second program to be there at the wrong moment. One that cannot be seen in a fair
// world is not here: a lock that an extension revives is caught by the contract suite alone.

import { inScript, inSource, type Mutant, rarely, within } from './mutant.ts';

export const setnxMutants: readonly Mutant[] = [
  inScript(
    'time-taken-over-too-soon',
    'a time is over for us as soon as it has come',
    within(20, 'older-protocol', 'ownership', 'foreign'),
  ),
  inScript(
    'time-without-the-second',
    'our time has no second for clocks that differ',
    within(20, 'older-protocol', 'honesty', 'foreign'),
  ),
  inScript(
    'time-extended-for-anybody',
    'an extension sets a later time whosever stands there',
    rarely(60, 'older-protocol', 'ownership'),
  ),
  inScript(
    'time-released-for-anybody',
    'a release removes whatever time stands there',
    within(20, 'older-protocol', 'ownership'),
  ),
  inScript(
    'note-counts-for-any-time',
    'a note makes any time ours',
    within(60, 'older-protocol', 'ownership'),
  ),
  inSource(
    'time-for-a-third-of-the-lease',
    'an extension is for less than the lease that it proves',
    within(10, 'older-protocol', 'honesty'),
    'redis/setnx-calls.ts',
    "call(scripts['extend.setnx'], claim, prefix, claim.value, claim.ttlMs, unitMs)",
    "call(scripts['extend.setnx'], claim, prefix, claim.value, Math.ceil(claim.ttlMs / 3), unitMs)",
  ),
  inSource(
    'time-in-the-other-unit',
    'milliseconds are written as if they were seconds',
    within(40, 'older-protocol', 'foreign'),
    'redis/protocol.ts',
    "'setnx-ms': setnxCalls(1),",
    "'setnx-ms': setnxCalls(1_000),",
  ),
  inSource(
    'time-kept-after-the-release',
    'a release keeps others away for another ttl',
    within(10, 'older-protocol', 'litter'),
    'redis/setnx-calls.ts',
    "scripts['release.setnx'],\n        claim,\n        prefix,\n        claim.value,\n        keepMs,",
    "scripts['release.setnx'],\n        claim,\n        prefix,\n        claim.value,\n        keepMs + claim.ttlMs,",
  ),
];
