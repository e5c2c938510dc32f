// Keeps one lease alive while it is wanted. It reports and returns; it stops and releases nothing.
// Invariant: it never extends at or after `stopAt`. After a stall (a stopped process, a sleeping
// machine) the clock is looked at first, and what was due to be stopped is stopped, not extended.

import type { Report } from './events.ts';
import { parseValue } from './holder.ts';
import type { Claim, Clock, Random } from './ports.ts';
import type { HeldLock, Lease, LossReason } from './redlock.ts';
import { holderIdOf } from './waiter-id.ts';

export interface KeepAliveSettings {
  /** From the start of the last proven round to the next extension. */
  readonly extendEveryMs: number;
  readonly masterTimeoutMs: number;
  /** How long before the end of validity the stopping of the child must begin. */
  readonly reserveMs: number;
}

/** Who is told what becomes of the lease. */
export interface Keeper {
  /** An extension has proven this. */
  readonly onLease: (lease: Lease) => void;
  /** A waiter, by his id, for whom the lock would be given up, as was agreed. The lease goes on meanwhile. */
  readonly onWanted: (by: string) => void;
}

/** When the stopping of what runs under this lease must begin, unless it is extended before. */
export function stopAtOf(lease: Lease, reserveMs: number): number {
  return lease.validUntil - reserveMs;
}

/**
 * Resolves with the reason when a quorum says that the lock is not ours, and with null when `ended` aborts or stopAt has
 * been reached without proof. Who yields the lock listens for calls meanwhile, until he has been told, and extends at once to learn more.
 */
export async function keepAlive(
  redlock: HeldLock,
  acquired: Lease,
  settings: KeepAliveSettings,
  clock: Clock,
  random: Random,
  keeper: Keeper,
  ended: AbortSignal,
  report: Report,
): Promise<LossReason | null> {
  let lease = acquired;
  let nextAt = lease.startedAt + settings.extendEveryMs;
  const line = acquired.claim.yields === 'lock' ? await redlock.joinLine(asHolder(acquired.claim)) : null;
  try {
    while (!ended.aborted) {
      await (line ? line.pause(nextAt - clock.now(), ended) : clock.sleep(nextAt - clock.now(), ended));
      line?.forgetCalls();
      const askedAt = clock.now();
      if (ended.aborted || askedAt >= stopAtOf(lease, settings.reserveMs)) return null;
      const extension = await redlock.extend(lease, ended);
      if (ended.aborted) return null;
      if (extension.kind === 'lost') return extension.reason;
      if (extension.kind === 'extended') {
        lease = extension.lease;
        keeper.onLease(lease);
        if (extension.wantedBy !== null) {
          keeper.onWanted(extension.wantedBy);
          line?.close();
        }
        const { extendedCount } = extension;
        report({ kind: 'extended', extendedCount, elapsedMs: clock.now() - askedAt });
        nextAt = lease.startedAt + settings.extendEveryMs;
      } else {
        const now = clock.now();
        const { failures } = extension;
        report({ kind: 'extension-failed', failures, validMs: lease.validUntil - now });
        nextAt = now + settings.masterTimeoutMs * (0.25 + 0.25 * random());
      }
    }
    return null;
  } finally {
    line?.close();
  }
}

/** Holders are called over a channel of their own, by those who want what they hold. */
function asHolder(claim: Claim): Claim {
  return { ...claim, waiter: { id: holderIdOf(parseValue(claim.value).token), arrivalUs: 0 } };
}
