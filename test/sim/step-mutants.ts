// Deliberate mistakes in what goes on under a lock that another process has taken: in runs inside of others, and in the steps of
// redlockctl.

import { inSource, type Mutant, within } from './mutant.ts';

export const stepMutants: readonly Mutant[] = [
  inSource(
    'outer-shown-by-one',
    'one master that shows the outer lock is enough to go on under it',
    within(60, 'nested-runs', 'honesty'),
    'redis/outer-lock.ts',
    'const quorum = quorumOf(count);',
    'const quorum = Math.min(1, quorumOf(count));',
  ),
  inSource(
    'outer-validity-of-the-longest',
    'the outer lock is believed in for as long as any master shows it',
    within(60, 'nested-runs', 'honesty', 'childUnderLease'),
    'redis/outer-lock.ts',
    '[quorum - 1] ?? {};',
    '[0] ?? {};',
  ),
  inSource(
    'outer-validity-from-after-the-look',
    'what is left of the outer lock is counted from when the answers have come',
    within(60, 'nested-runs', 'honesty'),
    'redis/outer-lock.ts',
    'const startedAt = askedAt + Math.min(leftMs, ttlMs) - ttlMs;',
    'const startedAt = this.#clock.now() + Math.min(leftMs, ttlMs) - ttlMs;',
  ),
  inSource(
    'outer-validity-whole',
    'a look is worth a whole ttl',
    within(20, 'nested-runs', 'honesty'),
    'redis/outer-lock.ts',
    'const startedAt = askedAt + Math.min(leftMs, ttlMs) - ttlMs;',
    'const startedAt = askedAt + 0 * leftMs;',
  ),
  inSource(
    'outer-token-not-compared',
    'a lock that somebody holds is taken for that of the outer run',
    within(60, 'nested-runs', 'honesty', 'childUnderLease', 'exclusion', 'oneChild'),
    'redis/outer-lock.ts',
    "token !== '' && parseValue(one.value).token === token",
    "token !== '' && one.value !== '' && parseValue(one.value) !== null",
  ),
  inSource(
    'outer-never-looked-at-again',
    'a run inside of another one believes that it goes on',
    within(20, 'nested-runs', 'honesty', 'childUnderLease'),
    'redis/outer-lock.ts',
    "return { kind: 'unreachable', failures: [late] };\n      }",
    "return { kind: 'extended', lease: { ...lease, startedAt: this.#clock.now(), validUntil: validUntilOf(this.#clock.now(), lease.claim.ttlMs) }, extendedCount: 1, wantedBy: null };\n      }",
  ),
  inSource(
    'outer-news-expected-at-once',
    'an outer run that has not extended yet is given no second look',
    within(60, 'nested-runs', 'sheltered'),
    'redis/outer-lock.ts',
    "if (first.kind !== 'unreachable' || ended.aborted) return first;",
    "if (first.kind === 'unreachable') return { kind: 'lost', reason: 'expired' };\n    if (ended.aborted) return first;",
  ),
];
