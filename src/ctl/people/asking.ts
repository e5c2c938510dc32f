// Asks living holders to stop, and waits until a quorum shows none of them any more. It reaches the
// masters through its parameters, so the simulator can run it as it is. The request is repeated,
// because a message may be lost, and a holder listens only some moments after it has begun.

import { type HolderRequest, renderRequest } from '../../lock/holder-request.ts';
import type { Clock } from '../../lock/ports.ts';
import { quorumOf } from '../../lock/quorum.ts';
import { askedIdOf } from '../../lock/value.ts';
import { isFailed } from '../../redis/errors.ts';
import { holdingsOf } from '../holdings.ts';
import type { MasterReport } from '../lock-state.ts';
import type { MasterQuery } from '../master-query.ts';

/** A holder that is asked: its token, and its value as the masters show it. */
export interface Asked {
  readonly token: string;
  readonly value: string;
}

/**
 * stopped: a quorum shows none of them. held: the time was up. deaf: no holder listens, on a
 * quorum. no-quorum: too few masters answer.
 */
export type AskingOutcome = 'stopped' | 'held' | 'deaf' | 'no-quorum';

/** The pause between two looks, and between two requests. */
const everyMs = { look: 200, ask: 1_000 };
/** How long a holder may take to listen: it begins to some moments after its command. */
const deafAfterMs = 3_000;

/** `waitMs`: null: for ever. */
export async function askToStop(
  query: MasterQuery,
  clock: Clock,
  name: string,
  holders: readonly Asked[],
  request: Pick<HolderRequest, 'id' | 'by'>,
  waitMs: number | null,
): Promise<AskingOutcome> {
  const beganAt = clock.now();
  const heard = new Set<string>();
  let askedAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    query.reset();
    const isDue = clock.now() - askedAt >= everyMs.ask;
    if (isDue) askedAt = clock.now();
    for (const { token } of isDue ? holders : []) {
      const message = renderRequest({ kind: 'stop', token, ...request });
      const counts = await query.ask((master) => master.publish(name, askedIdOf(token), message));
      const reached = counts.filter((count) => !isFailed(count) && count > 0).length;
      if (reached >= quorumOf(counts.length)) heard.add(token);
    }
    query.reset();
    const [reports = []] = await query.reports([name]);
    const quorum = quorumOf(reports.length);
    const votes = holders.map(({ value }) => votesOf(reports, value));
    if (votes.every(({ gone }) => gone >= quorum)) return 'stopped';
    const passedMs = clock.now() - beganAt;
    const isOver = waitMs !== null && passedMs >= waitMs;
    if (isOver && votes.some(({ gone, shown }) => gone < quorum && shown + gone < quorum))
      return 'no-quorum';
    if (isOver) return 'held';
    const isUnheard = holders.every(({ token }) => !heard.has(token));
    const isAnswered = votes.every(({ gone, shown }) => shown + gone >= quorum);
    if (isUnheard && isAnswered && passedMs >= deafAfterMs) return 'deaf';
    await query.pause(everyMs.look);
  }
}

/** How many masters show this value, and how many answer and do not. */
function votesOf(
  reports: readonly MasterReport[],
  value: string,
): { readonly shown: number; readonly gone: number } {
  const snapshots = reports.flatMap(({ snapshot }) => ('kind' in snapshot ? [] : [snapshot]));
  const shown = snapshots.filter((one) => holdingsOf(one).some((each) => each.value === value));
  return { shown: shown.length, gone: snapshots.length - shown.length };
}
