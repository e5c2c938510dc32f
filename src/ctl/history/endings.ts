// Marks the holders whose run has ended while --hold-at-least keeps the key, which looks as before.
// Their line in the history tells, which was written in the step that left the key. *Note:* a run
// with --no-history leaves no line, and looks alive until the key expires.

import type { LockState } from '../lock-state.ts';
import type { MasterQuery } from '../survey.ts';
import { pastRunsOf } from './chronicle.ts';

/**
 * The line of the last run of a lock that is kept is most likely among these; waiters that gave up
 * meanwhile come after it.
 */
const newestLines = 50;

/** The locks, with the instants at which the runs of their holders ended. */
export async function withEndings(
  survey: MasterQuery,
  locks: readonly LockState[],
): Promise<LockState[]> {
  const held = locks.filter(({ holders }) => holders.some(({ kind }) => kind === 'redlock-run'));
  const histories = await survey.histories(
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
