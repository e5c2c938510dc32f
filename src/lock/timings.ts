// The durations of a lock that depend on one another: defaults, derived values, and why a choice is
// not safe. All in milliseconds. The command must be stopped well before the lock runs out, and two
// attempts to extend must have ended before that.

import { defaultDriftFactor, driftMsOf } from './quorum.ts';

export interface LockTimings {
  readonly ttlMs: number;
  /** How long one master may take to answer. */
  readonly masterTimeoutMs: number;
  /** How long before the end of validity the work under the lock has to begin to stop. */
  readonly reserveMs: number;
  /** From the start of the last confirmed round to the next extension. */
  readonly extendEveryMs: number;
  /** By how much the rates of clocks may differ, as a part of the time. */
  readonly driftFactor: number;
}

/** What an attempt or an extension depends on. */
export type RoundTimings = Pick<LockTimings, 'masterTimeoutMs' | 'reserveMs' | 'driftFactor'>;

export interface RunTimings extends LockTimings {
  /** From the stop signal to SIGKILL. */
  readonly graceMs: number;
  /** From SIGKILL of redlock-run to the end of validity. */
  readonly marginMs: number;
}

/** How often a lease is extended within its ttl, where that leaves time enough. */
const extensionsPerTtl = 3;

/**
 * `masterTimeoutMs` null: a twentieth of the ttl, between 50 ms and 2 s. The result may be unsafe:
 * see dangerOf.
 */
export function lockTimings(
  ttlMs: number,
  masterTimeoutMs: number | null,
  reserveMs: number,
  driftFactor: number,
): LockTimings {
  const timeoutMs = masterTimeoutMs ?? Math.min(2000, Math.max(50, Math.round(ttlMs / 20)));
  // An attempt, and the longest pause before the next one.
  const twoAttemptsMs = 2 * (timeoutMs + timeoutMs / 2);
  const lastAtMs = stopAtMsOf({ ttlMs, reserveMs, driftFactor }) - twoAttemptsMs;
  const extendEveryMs = Math.floor(Math.min(ttlMs / extensionsPerTtl, lastAtMs));
  return { ttlMs, masterTimeoutMs: timeoutMs, reserveMs, extendEveryMs, driftFactor };
}

/** Of a lock that redlockctl holds: there is no command to stop. May be unsafe: see dangerOf. */
export function heldTimings(ttlMs: number, masterTimeoutMs: number | null): LockTimings {
  return lockTimings(ttlMs, masterTimeoutMs, 0, defaultDriftFactor);
}

/** `graceMs` null: a third of the ttl, at most 5 s. The result may be unsafe: see dangerOf. */
export function runTimings(
  ttlMs: number,
  masterTimeoutMs: number | null,
  graceMs: number | null,
): RunTimings {
  const grace = graceMs ?? Math.floor(Math.min(5000, ttlMs / 3));
  const marginMs = Math.round(Math.min(1000, ttlMs / 6));
  const reserveMs = grace + marginMs;
  const timings = lockTimings(ttlMs, masterTimeoutMs, reserveMs, defaultDriftFactor);
  return { ...timings, graceMs: grace, marginMs };
}

/** How much later than redlock-run the guard acts: only where redlock-run does not. */
export function guardSlackMsOf(marginMs: number): number {
  return marginMs / 4;
}

/** When stopping begins without an extension, in ms from the start of the last confirmed round. */
export function stopAtMsOf({
  ttlMs,
  reserveMs,
  driftFactor,
}: Pick<LockTimings, 'ttlMs' | 'reserveMs' | 'driftFactor'>): number {
  return ttlMs - driftMsOf(ttlMs, driftFactor) - reserveMs;
}

/**
 * Why a lock cannot be held safely with these timings; null when it can. `isExtended`: the lock is
 * extended automatically, which needs time.
 */
export function dangerOf(timings: LockTimings | RunTimings, isExtended: boolean): string | null {
  const { ttlMs, masterTimeoutMs, reserveMs, extendEveryMs, driftFactor } = timings;
  const driftMs = driftMsOf(ttlMs, driftFactor);
  const isRun = 'graceMs' in timings;
  if (masterTimeoutMs + driftMs + (isRun ? 0 : reserveMs) >= ttlMs) {
    return 'the lock could run out before a master has answered';
  }
  if (isRun && timings.graceMs + driftMs + ttlMs / extensionsPerTtl + masterTimeoutMs >= ttlMs) {
    return 'no time left to stop the command after an extension has failed';
  }
  if (isExtended && extendEveryMs < masterTimeoutMs / 2) {
    const end = reserveMs === 0 ? 'the lock runs out' : 'the signal must fire';
    return `no time for two extensions before ${isRun ? 'the command must be stopped' : end}`;
  }
  return null;
}
