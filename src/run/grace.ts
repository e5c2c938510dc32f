// How long a command has from the stop signal to SIGKILL: less where no guard is left beside
// redlock-run, since nothing would end the command if redlock-run died as well.

import type { StopReason } from './run-result.ts';

/** The longest grace of a command that no second process guards any more. */
const unguardedMs = 5_000;

/** How long after the stop signal SIGKILL follows. */
export function graceOf(cause: StopReason | null, graceMs: number): number {
  const isUnguarded = cause?.kind === 'lost' && cause.reason === 'guard-lost';
  return isUnguarded ? unguardedGraceOf(graceMs) : graceMs;
}

export function unguardedGraceOf(graceMs: number): number {
  return Math.min(graceMs, unguardedMs);
}
