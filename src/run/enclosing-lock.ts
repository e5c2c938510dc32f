// The lock of the enclosing run, for a nested run below it (--reentrant). The guard of the
// enclosing run ends every process below it when that lock is lost, and at its deadlines. So a
// nested run asks no master: it checks that it is below the enclosing run, before its command
// starts and then as often as a lock of its own would be extended.

import type { Clock, Report } from '../lock/ports.ts';
import { validUntilOf } from '../lock/quorum.ts';
import type { HeldLock } from '../lock/redlock.ts';
import { alone, type Lease } from '../lock/types.ts';
import type { Acquisition } from '../lock/wait.ts';
import { entryAbove, processEntry } from '../system/process-table.ts';
import type { EnclosingLease } from '../text/held-locks.ts';
import { guardName } from './guard-program.ts';

/**
 * Any holder, for processes in the PID namespace that --isolate makes: they are all below the inner
 * guard, which is the first process there, and see nothing above it.
 */
const isolatedHolder = '1';

/** This process as a holder, in REDLOCK_HELD_LEASES: its pid and when it started. */
export function holderName(): string {
  return `${process.pid}.${processEntry(process.pid)?.startedAt}`;
}

/** The name of this holder in the PID namespace that --isolate makes; '' if we are not below it. */
export function isolatedName(holder: string): string {
  return isBelow(holder) ? isolatedHolder : '';
}

/** Whether this process is the holder, or below it in the tree of processes. */
export function isBelow(holder: string): boolean {
  if (holder === isolatedHolder) return processEntry(1)?.name === guardName;
  const [pid = 0, startedAt] = holder.split('.').map(Number);
  const entry = entryAbove(pid);
  return entry?.isAlive === true && entry.startedAt === startedAt;
}

interface EnclosingLock extends HeldLock {
  acquire(): Acquisition;
}

export function enclosingLock(
  { names: resources, token, ttlMs, fence, sharing, holder }: EnclosingLease,
  clock: Clock,
  driftFactor: number,
  report: Report,
): EnclosingLock {
  const form = { ...alone, resources, sharing, ttlMs, isFenced: fence !== null };
  const claim = { ...form, token, value: '', waiter: null };
  const renewed = (): Lease => {
    const startedAt = clock.now();
    return { claim, startedAt, validUntil: validUntilOf(startedAt, ttlMs, driftFactor), fence };
  };
  return {
    acquire: () => {
      if (!isBelow(holder)) return { kind: 'enclosing-lost' };
      const granted = { kind: 'acquired', grantedCount: 0, elapsedMs: 0 } as const;
      report({ ...granted, waitMs: 0 });
      return { ...granted, lease: renewed() };
    },
    // The enclosing run may have ended, and have left this one in the background.
    extend: async () =>
      isBelow(holder)
        ? { kind: 'extended', lease: renewed(), extendedCount: 0, replacedBy: null }
        : { kind: 'lost', reason: 'expired' },
    release: async () => ({ releasedCount: 0, isConfirmed: true, missing: null, failures: [] }),
    subscribe: () =>
      Promise.reject(new TypeError('the lock of another run has no waiters of this run')),
    settled: async () => {},
  };
}
