// What failures tell: which failure of a master is worth reporting, and of an attempt that has not
// acquired the lock whether a quorum answered and whether waiting can help. A master that stays
// down fails in several ways, and the newest one often says least: after a refused login only that
// the connection has ended.

import { quorumOf } from './quorum.ts';
import type { Attempt, Failed, FailureCause, MasterFailure } from './types.ts';

/** The least telling first. */
const order: readonly FailureCause[] = [
  'timeout',
  'connection',
  'restarted',
  'reply',
  'misconfigured',
  'denied',
];

/** The failure of a master to which a release was sent, and whose answer was not waited for. */
export const lagging: Failed = {
  kind: 'failed',
  cause: 'timeout',
  message: 'has not been answering',
};

/** Of two failures of one master the one that says more; of two equal ones the later. */
export function moreTelling(earlier: Failed, later: Failed): Failed {
  return rankOf(later) >= rankOf(earlier) ? later : earlier;
}

/** The failures of an attempt, with what is known of all masters that fail. */
export function completed(
  failures: readonly MasterFailure[],
  known: readonly MasterFailure[],
): MasterFailure[] {
  const unknown = failures.filter(({ master }) => !known.some((one) => one.master === master));
  return [...known, ...unknown];
}

function rankOf({ cause, isVague }: Failed): number {
  return 2 * order.indexOf(cause) + (isVague ? 0 : 1);
}

/** An attempt that has not acquired the lock. */
export type Failure = Exclude<Attempt, { kind: 'acquired' }>;

/** Whether the list is wrong, or so many masters refuse access that no quorum can ever answer. */
export function isMisconfigured(attempt: Failure, masterCount: number): boolean {
  if (attempt.kind === 'misconfigured') return true;
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
  return attempt.kind === 'misconfigured' || attempt.kind === 'unreachable' ? attempt.failures : [];
}
