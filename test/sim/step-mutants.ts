// Mutants of work under a lock that another process has acquired: the steps of redlockctl.

import { inSource, type Mutant, rarely, within } from './mutant.ts';

export const stepMutants: readonly Mutant[] = [
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
    'validUntilOf(askedAt, remainingMs, defaultDriftFactor)',
    'validUntilOf(clock.now(), remainingMs, defaultDriftFactor)',
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
    rarely(180, 'in-steps', 'toldLost'),
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
    'if (isConfirmed) await query.ask(',
    'if (removedCount > replies.length) await query.ask(',
  ),
  inSource(
    'wake-up-not-awaited',
    'a daemon that sees its lock missing before its wake-up reports a loss',
    rarely(460, 'in-steps', 'keptForShell'),
    'ctl/steps/holder-daemon.ts',
    'await subscriptions.pause(\n' +
      '          clock.now() < keeper.lease.validUntil ? timings.masterTimeoutMs : 0,\n' +
      '          aborted,\n' +
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
    'void watch(isWanted, clock, gone, handedOver.signal);',
    'void watch;',
  ),
  inSource(
    'held-and-left-behind',
    'a daemon leaves its lock to expire',
    within(10, 'in-steps', 'litter'),
    'ctl/steps/holder-daemon.ts',
    'await redlock.release(lease.claim, 0, line);',
    'void line;',
  ),
  inSource(
    'held-for-one-ttl',
    'a daemon extends its lock only after it has ended',
    rarely(20, 'in-steps', 'keptForShell'),
    'ctl/steps/holder-daemon.ts',
    'marginMs: 0 },',
    'marginMs: 0, extendEveryMs: timings.ttlMs * 1.2 },',
  ),
];
