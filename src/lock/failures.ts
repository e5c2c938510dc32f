// Which failure of a master is worth telling. A master that stays down fails in several ways, and
// the newest one often says least: after a refused login only that the connection has ended.

import type { Failed, FailureCause, MasterFailure } from './types.ts';

/** The least telling first. */
const order: readonly FailureCause[] = [
  'timeout',
  'connection',
  'restarted',
  'reply',
  'unfit',
  'denied',
];

/** The failure of a master to which a release was sent, and whose answer was not waited for. */
export const lagging: Failed = {
  kind: 'failed',
  cause: 'timeout',
  message: 'has not been answering',
};

/** Of two failures of one master the more telling; of two equal ones the later. */
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
