// Marks holders whose run has ended while --hold-at-least keeps the key. The line in the history
// tells, which is written together with the key. *Note:* a run with --no-history has no line, and
// looks alive until the key expires.

import type { LockState } from '../lock-state.ts';
import type { MasterQuery } from '../master-query.ts';
import { pastRunsOf } from './run-history.ts';

/**
 * How many lines of a history are read. The line of the last run is most likely among them; waiters
 * that have given up since then come after it.
 */
const newestLines = 50;

/** The locks, with `endedAt` of their holders. */
export async function withEndings(
  query: MasterQuery,
  locks: readonly LockState[],
): Promise<LockState[]> {
  const held = locks.filter(({ holders }) => holders.some(({ kind }) => kind === 'redlock-run'));
  const histories = await query.histories(
    held.map(({ name }) => name),
    newestLines,
  );
  const ended = new Map<string, string | null>();
  for (const [index, { name }] of held.entries()) {
    for (const { token, endedAt } of pastRunsOf(name, histories[index] ?? []))
      ended.set(`${token} ${name}`, endedAt);
  }
  return locks.map((lock) => ({
    ...lock,
    holders: lock.holders.map((holder) => ({
      ...holder,
      endedAt: ended.get(`${holder.token} ${lock.name}`) ?? null,
    })),
  }));
}
