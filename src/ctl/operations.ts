// What operators do to a lock on a quorum of masters: freeze it, thaw it, ask its holders to stop.
// It reaches the masters through its parameters, so the simulator runs it as it is.

import { type HolderRequest, renderRequest } from '../lock/people.ts';
import type { Clock } from '../lock/ports.ts';
import { quorumOf } from '../lock/quorum.ts';
import type { ReleaseReply } from '../lock/types.ts';
import { askedIdOf } from '../lock/waiter-id.ts';
import { isFailed } from '../redis/errors.ts';
import type { LockSnapshot } from '../redis/snapshot.ts';
import { holdingsOf } from './holdings.ts';
import { holdingsByToken, type LockState, type MasterReport } from './lock-state.ts';
import type { MasterQuery } from './master-query.ts';

/**
 * Resolves with `frozen` when no new holder comes from now on, and with `taken` where there is
 * another freeze. Unless it is frozen, nothing of ours is left, except perhaps on the masters that
 * fail in `query`.
 */
export async function freezeLock(
  query: MasterQuery,
  name: string,
  value: string,
  forMs: number,
): Promise<'frozen' | 'taken' | 'no-quorum'> {
  const replies = await query.ask((master) => master.freeze(name, value, forMs));
  const count = replies.filter(({ kind }) => kind === 'frozen').length;
  const quorum = quorumOf(replies.length);
  if (count >= quorum) return 'frozen';
  query.reset();
  await query.ask((master) => master.thaw(name, value, ''));
  const takenCount = replies.filter(({ kind }) => kind === 'taken').length;
  return takenCount > 0 && count + takenCount >= quorum ? 'taken' : 'no-quorum';
}

/**
 * free: it was not frozen, or is not any more. changed: frozen anew in the meantime, and left
 * alone. `values`: the freezes that were removed.
 */
export type Thawed =
  | { readonly kind: 'thawed'; readonly count: number; readonly values: readonly string[] }
  | { readonly kind: 'free' | 'changed' | 'no-quorum' };

/**
 * Removes exactly the freezes that it has read; perhaps not on the masters that fail in `query`
 * then. `lineFor`: for the history.
 */
export async function thawLock(
  query: MasterQuery,
  name: string,
  lineFor: (value: string) => string,
): Promise<Thawed> {
  const answers = await query.ask<readonly LockSnapshot[]>((server) => server.look([name]));
  const snapshots = answers.flatMap((answer) => (isFailed(answer) ? [] : [answer[0]]));
  const quorum = quorumOf(answers.length);
  if (snapshots.length < quorum) return { kind: 'no-quorum' };
  const values = new Set(snapshots.flatMap((snapshot) => snapshot?.freeze?.value ?? []));
  const removed = new Map<string, number>();
  let isChanged = false;
  if (values.size > 0) query.reset();
  for (const value of values) {
    const line = lineFor(value);
    const replies = await query.ask<ReleaseReply>((master) => master.thaw(name, value, line));
    const answered = replies.filter(({ kind }) => kind !== 'failed');
    if (answered.length < quorum) return { kind: 'no-quorum' };
    const count = replies.filter(({ kind }) => kind === 'released').length;
    if (count > 0) removed.set(value, count);
    isChanged ||= replies.filter(({ kind }) => kind === 'taken').length >= quorum;
  }
  if (removed.size > 0)
    return { kind: 'thawed', count: Math.max(...removed.values()), values: [...removed.keys()] };
  return { kind: isChanged ? 'changed' : 'free' };
}

/** A holder that is asked to stop: its token, and its value as the masters show it. */
export interface Asked {
  readonly token: string;
  readonly value: string;
}

/** The holders that can be asked: runs of redlock-run that have not ended. */
export function askable(
  { holders }: Pick<LockState, 'holders'>,
  reports: readonly MasterReport[],
): readonly Asked[] {
  const values = holdingsByToken(reports);
  return holders.flatMap(({ kind, endedAt, token }): Asked[] => {
    const value = token === null ? undefined : values.get(token)?.value;
    const canHear = kind === 'redlock-run' && endedAt === null;
    return canHear && token !== null && value !== undefined ? [{ token, value }] : [];
  });
}

/** The pause between two looks, and between two requests. */
const everyMs = { look: 200, ask: 1_000 };
/** How long a holder may take to listen: it begins to some moments after its command. */
const unheardAfterMs = 3_000;

/**
 * Asks these holders to stop, and waits until a quorum shows none of them (`stopped`), the time is
 * up (`held`; `waitMs`: null: never), or no holder listens on a quorum (`unheard`). It takes
 * nothing away. The request is repeated, because a message may be lost, and a holder listens only
 * some moments after it has begun.
 */
export async function askToStop(
  query: MasterQuery,
  clock: Clock,
  name: string,
  holders: readonly Asked[],
  request: Pick<HolderRequest, 'id' | 'by'>,
  waitMs: number | null,
): Promise<'stopped' | 'held' | 'unheard' | 'no-quorum'> {
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
    if (isUnheard && isAnswered && passedMs >= unheardAfterMs) return 'unheard';
    await query.clock.sleep(everyMs.look);
  }
}

/** How many masters show this value, and how many answer and do not. */
function votesOf(reports: readonly MasterReport[], value: string) {
  const snapshots = reports.flatMap(({ snapshot }) => (isFailed(snapshot) ? [] : [snapshot]));
  const shown = snapshots.filter((one) => holdingsOf(one).some((each) => each.value === value));
  return { shown: shown.length, gone: snapshots.length - shown.length };
}

/** Adds a line to the history on every master that takes it. */
export async function addToHistory(query: MasterQuery, name: string, line: string): Promise<void> {
  await query.ask((master) => master.addLine(name, line));
}
