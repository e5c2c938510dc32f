// What an attempt tells that has not acquired the lock: whether a quorum answered, and whether
// waiting can help.

import { quorumOf } from './quorum.ts';
import type { Attempt, MasterFailure } from './types.ts';

/** An attempt that has not acquired the lock. */
export type Failure = Exclude<Attempt, { kind: 'acquired' }>;

/** Whether a server is unfit, or so many masters refuse access that no quorum can ever answer. */
export function isMisconfigured(attempt: Failure, masterCount: number): boolean {
  if (attempt.kind === 'unfit') return true;
  const deniedCount = failuresOf(attempt).filter(({ failed }) => failed.cause === 'denied').length;
  return deniedCount > masterCount - quorumOf(masterCount);
}

/** A master that restarted too recently to vote has answered too: it is worth waiting for. */
export function hasQuorumAnswered(attempt: Failure, masterCount: number): boolean {
  if (attempt.kind === 'busy' || attempt.kind === 'too-slow') return true;
  const mute = failuresOf(attempt).filter(({ failed }) => failed.cause !== 'restarted');
  return mute.length <= masterCount - quorumOf(masterCount);
}

/** Empty for an attempt that a quorum answered. */
export function failuresOf(attempt: Failure): readonly MasterFailure[] {
  return attempt.kind === 'unfit' || attempt.kind === 'unreachable' ? attempt.failures : [];
}
