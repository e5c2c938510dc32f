// Which holders are none any more: the lock is kept after the end of their run (--hold-at-least), and the key looks as before. Their line
// in the history tells, which was written in the step that left the key. The surprise: who runs with --no-history leaves no line, and
// looks alive until the key expires.

import { pastRunsOf } from './history/chronicle.ts';
import type { LockState } from './lock-state.ts';
import type { Survey } from './survey.ts';

/** The newest line of a lock that is kept is most likely that of its last run; those who gave up meanwhile come after it. */
const newestLines = 50;

/** The locks, with the instants at which the runs of their holders ended. */
export async function withEndings(survey: Survey, locks: readonly LockState[]): Promise<LockState[]> {
  const held = locks.filter(({ holders }) => holders.some(({ kind }) => kind === 'redlock-run'));
  const histories = await survey.histories(
    held.map(({ name }) => name),
    newestLines,
  );
  const ended = new Map<string, string | null>();
  for (const [index, { name }] of held.entries()) {
    for (const { token, endedAt } of pastRunsOf(name, histories[index] ?? [])) ended.set(`${token} ${name}`, endedAt);
  }
  return locks.map((lock) => ({
    ...lock,
    holders: lock.holders.map((holder) => ({
      ...holder,
      endedAt: ended.get(`${holder.token} ${lock.name}`) ?? null,
    })),
  }));
}
