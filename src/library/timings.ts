// The durations of one lock that depend on each other: filled in, derived, and refused when they cannot be safe together. All in ms,
// pure. The surprise: the signal must fire well before the lock runs out, and a lock that keeps itself alive must have tried twice
// before that, so a ttl of two hundred milliseconds has no room left.

import { driftMsOf } from '../lock/validity.ts';
import { usageError } from './complaint.ts';
import { longestMs } from './option-rules.ts';
import type { LockOptions } from './options.ts';

export interface Timings {
  readonly ttlMs: number;
  /** How long one master may take to answer. */
  readonly masterTimeoutMs: number;
  /** From the firing of the signal to the end of validity. */
  readonly reserveMs: number;
  /** Counted from the start of the last proven round. */
  readonly extendEveryMs: number;
  readonly driftFactor: number | undefined;
}

/** @throws RedlockError `usage` where the lock could not be held safely with these */
export function timingsOf(ttlMs: number, options: LockOptions, keepAlive: boolean): Timings {
  if (!Number.isSafeInteger(ttlMs) || ttlMs < 1 || ttlMs > longestMs) {
    throw usageError(`ttl: ${ttlMs}: not a time to live (write whole milliseconds, from 1 to a day)`);
  }
  const masterTimeoutMs = options.masterTimeoutMs ?? Math.min(2000, Math.max(50, Math.round(ttlMs / 20)));
  const reserveMs = options.reserveMs ?? Math.min(5000, Math.floor(ttlMs / 4));
  const { driftFactor } = options;
  const provenMs = ttlMs - driftMsOf(ttlMs, driftFactor) - reserveMs;
  const twoAttemptsMs = 2 * (masterTimeoutMs + masterTimeoutMs / 2);
  const extendEveryMs = Math.floor(Math.min(ttlMs / 3, provenMs - twoAttemptsMs));
  const which = `timings: ttl ${ttlMs} ms, masterTimeoutMs ${masterTimeoutMs}, reserveMs ${reserveMs}`;
  if (masterTimeoutMs >= provenMs) {
    throw usageError(
      `${which}: the lock could run out before a master has answered (raise the ttl or lower the others)`,
    );
  }
  if (keepAlive && extendEveryMs < masterTimeoutMs / 2) {
    throw usageError(
      `${which}: no time for two extensions before the signal must fire (raise the ttl or lower the others)`,
    );
  }
  return { ttlMs, masterTimeoutMs, reserveMs, extendEveryMs, driftFactor };
}
