// The durations that depend on each other: filled in, derived, and refused when they cannot be safe together. All in ms, pure. The
// surprise: the command has to be stopped well before the lock runs out, and two attempts to extend must have ended before that,
// so a ttl of a few hundred milliseconds has no room left for anything.

import { driftMsOf } from '../lock/validity.ts';
import { renderDuration } from './duration.ts';

export interface Timings {
  readonly ttlMs: number;
  /** How long one master may take to answer. */
  readonly masterTimeoutMs: number;
  /** Between the stop signal and SIGKILL. */
  readonly graceMs: number;
  /** Between SIGKILL and the end of the validity. */
  readonly marginMs: number;
  /** Counted from the start of the last proven extension. */
  readonly extendEveryMs: number;
}

/** Fills in what is null and derives the rest. The result may be unsafe: see dangerOf. */
export function deriveTimings(ttlMs: number, masterTimeoutMs: number | null, graceMs: number | null): Timings {
  const timeoutMs = masterTimeoutMs ?? Math.min(2000, Math.max(50, Math.round(ttlMs / 20)));
  const known = {
    ttlMs,
    masterTimeoutMs: timeoutMs,
    graceMs: graceMs ?? Math.floor(Math.min(5000, ttlMs / 3)),
    marginMs: Math.round(Math.min(1000, ttlMs / 6)),
  };
  const twoAttemptsMs = 2 * (timeoutMs + timeoutMs / 2);
  return { ...known, extendEveryMs: Math.floor(Math.min(ttlMs / 3, stopAtMsOf(known) - twoAttemptsMs)) };
}

/** When stopping the command begins unless the lock was extended, in ms from the start of the last proven attempt. */
export function stopAtMsOf(timings: Pick<Timings, 'ttlMs' | 'graceMs' | 'marginMs'>): number {
  return timings.ttlMs - driftMsOf(timings.ttlMs) - timings.graceMs - timings.marginMs;
}

/** Why these timings cannot be safe, as `what: which: why (what to do)`; null when they can. */
export function dangerOf(timings: Timings): string | null {
  const { ttlMs, masterTimeoutMs, graceMs, extendEveryMs } = timings;
  const driftMs = driftMsOf(ttlMs);
  const which = `timings: ttl ${renderDuration(ttlMs)}, killAfter ${renderDuration(graceMs)}, masterTimeout ${renderDuration(masterTimeoutMs)}`;
  if (masterTimeoutMs + driftMs >= ttlMs) {
    return `${which}: the lock could run out before a master has answered (raise ttl or lower masterTimeout)`;
  }
  if (graceMs + driftMs + ttlMs / 3 + masterTimeoutMs >= ttlMs) {
    return `${which}: no time left to stop the command after an extension has failed (raise ttl or lower killAfter)`;
  }
  if (extendEveryMs < masterTimeoutMs / 2) {
    return `${which}: no time for two extensions before the command must be stopped (raise ttl, or lower killAfter or masterTimeout)`;
  }
  return null;
}
