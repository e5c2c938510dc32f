// Mutants of work under a lock that another process has acquired: nested runs, and the steps of
// redlockctl.

import { inSource, type Mutant, rarely, within } from './mutant.ts';

export const stepMutants: readonly Mutant[] = [
  inSource(
    'enclosing-shown-by-one',
    'one master that shows the enclosing lock is enough to go on under it',
    rarely(60, 'nested-runs', 'honesty'),
    'redis/enclosing-lock.ts',
    'const quorum = quorumOf(count);',
    'const quorum = Math.min(1, quorumOf(count));',
  ),
  inSource(
    'enclosing-validity-of-the-longest',
    'the enclosing lock counts as held for as long as any master shows it',
    rarely(60, 'nested-runs', 'honesty', 'childUnderLease'),
    'redis/enclosing-lock.ts',
    '[quorum - 1] ?? {};',
    '[0] ?? {};',
  ),
  inSource(
    'enclosing-validity-from-after-the-look',
    'the rest of the enclosing lease is counted from when the replies have come',
    rarely(60, 'nested-runs', 'honesty'),
    'redis/enclosing-lock.ts',
    'const startedAt = askedAt + Math.min(leftMs, ttlMs) - ttlMs;',
    'const startedAt = this.#clock.now() + Math.min(leftMs, ttlMs) - ttlMs;',
  ),
  inSource(
    'enclosing-validity-whole',
    'a query confirms a whole ttl',
    within(20, 'nested-runs', 'honesty'),
    'redis/enclosing-lock.ts',
    'const startedAt = askedAt + Math.min(leftMs, ttlMs) - ttlMs;',
    'const startedAt = askedAt + 0 * leftMs;',
  ),
  inSource(
    'enclosing-token-not-compared',
    'a lock with another token is taken for that of the enclosing run',
    rarely(60, 'nested-runs', 'honesty', 'childUnderLease', 'exclusion', 'oneChild'),
    'redis/enclosing-lock.ts',
    "token !== '' && parseValue(one.value).token === token",
    "token !== '' && one.value !== '' && parseValue(one.value) !== null",
  ),
  inSource(
    'enclosing-never-looked-at-again',
    'a nested run assumes that the enclosing lock is held on',
    within(20, 'nested-runs', 'honesty', 'childUnderLease'),
    'redis/enclosing-lock.ts',
    "if (!isNews) return { kind: 'unreachable', failures: [late] };",
    "if (!isNews) return { kind: 'extended', lease: { ...lease, startedAt: " +
      'this.#clock.now(), validUntil: validUntilOf(this.#clock.now(), lease.claim.ttlMs) }, ' +
      'extendedCount: 1, replacedBy: null };',
  ),
  inSource(
    'enclosing-news-expected-at-once',
    'an enclosing lease that is not extended yet gets no second query',
    rarely(60, 'nested-runs', 'sheltered'),
    'redis/enclosing-lock.ts',
    "if (first.kind !== 'unreachable' || ended.aborted) return first;",
    "if (first.kind === 'unreachable') return { kind: 'lost', reason: 'expired' };\n" +
      '    if (ended.aborted) return first;',
  ),
  inSource(
    'step-shown-by-one',
    'one master that shows the lock is enough to report it as held',
    rarely(40, 'in-steps', 'toldHeld'),
    'ctl/steps/lock-handle.ts',
    'const quorum = quorumOf(reports.length);',
    'const quorum = Math.min(1, quorumOf(reports.length));',
  ),
  inSource(
    'step-rest-of-the-longest',
    'a lock is reported as held for as long as any master shows it',
    rarely(40, 'in-steps', 'toldHeld'),
    'ctl/steps/lock-handle.ts',
    'remaining[quorum - 1] ?? 0',
    'remaining[0] ?? 0',
  ),
  inSource(
    'check-counts-from-the-answer',
    'the rest of a lease is counted from when the replies have come',
    within(20, 'in-steps', 'toldHeld'),
    'ctl/steps/lock-handle.ts',
    'validUntilOf(askedAt, ownership.remainingMs)',
    'validUntilOf(clock.now(), ownership.remainingMs)',
  ),
  inSource(
    'extension-not-looked-at',
    'an extension that no quorum has confirmed is reported as one',
    rarely(60, 'in-steps', 'toldHeld'),
    'ctl/steps/lock-handle.ts',
    "if (extension.kind === 'unreachable') return { kind: 'unknown' };",
    "if (extension.kind === 'unreachable') return { kind: 'held', validMs: ttlMs };",
  ),
  inSource(
    'extension-said-whole',
    'an extension is reported as a whole ttl, whenever it was requested',
    within(20, 'in-steps', 'toldHeld'),
    'ctl/steps/lock-handle.ts',
    "extension.kind === 'extended' ? extension.lease.validUntil - now : 0",
    "extension.kind === 'extended' ? ttlMs : 0",
  ),
  inSource(
    'extended-late-is-lost',
    'an extension too late to be confirmed is reported as a loss',
    rarely(160, 'in-steps', 'toldLost'),
    'ctl/steps/lock-handle.ts',
    'if (!isLate) return',
    'if (!isLate || tryCount > 0) return',
  ),
  inSource(
    'released-by-one',
    'one master without the value is enough to report a release',
    rarely(200, 'in-steps', 'toldReleased'),
    'ctl/steps/lock-handle.ts',
    'const isConfirmed = removedCount > replies.length / 2;',
    'const isConfirmed = removedCount > 0;',
  ),
  inSource(
    'holder-not-told',
    'a release does not wake the daemon that holds the lock',
    rarely(40, 'in-steps', 'keptForShell'),
    'ctl/steps/lock-handle.ts',
    'if (isConfirmed) await query.wake',
    'if (removedCount > replies.length) await query.wake',
  ),
  inSource(
    'wake-up-not-awaited',
    'a daemon that sees its lock missing before its wake-up reports a loss',
    rarely(240, 'in-steps', 'keptForShell'),
    'ctl/steps/holder-daemon.ts',
    'await subscriptions.pause(\n' +
      '          clock.now() < keeper.lease.validUntil ? masterTimeoutMs : 0,\n' +
      '          ended,\n' +
      '        );',
    "if (!subscriptions.isWoken) return 'lost';",
  ),
  inSource(
    'held-for-a-dead-process',
    'a lock is held for a process that has ended',
    rarely(20, 'in-steps', 'heldForDeadProcess'),
    'ctl/steps/holder-daemon.ts',
    "if (!isWanted()) return 'unwanted';",
    'isWanted();',
  ),
  inSource(
    'waited-for-a-dead-process',
    'a lock is waited for on behalf of a process that has ended',
    rarely(80, 'in-steps', 'heldForDeadProcess'),
    'ctl/steps/holder-daemon.ts',
    'void watch(terms.isWanted, clock, gone, handedOver.signal);',
    'void watch;',
  ),
  inSource(
    'held-and-left-behind',
    'a daemon leaves its lock to expire',
    within(10, 'in-steps', 'litter'),
    'ctl/steps/holder-daemon.ts',
    'await redlock.release(lease.claim, 0, record);',
    'void record;',
  ),
  inSource(
    'held-for-one-ttl',
    'a daemon extends its lock only after it has ended',
    rarely(20, 'in-steps', 'keptForShell'),
    'ctl/steps/holder-daemon.ts',
    'const { extendEveryMs } = lockTimings({ ttlMs: claim.ttlMs, masterTimeoutMs, reserveMs: 0 });',
    'const extendEveryMs = lockTimings({ ttlMs: claim.ttlMs, masterTimeoutMs, reserveMs: 0 ' +
      '}).ttlMs * 1.2;',
  ),
];
