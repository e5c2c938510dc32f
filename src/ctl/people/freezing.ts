// Freezes and thaws a lock on a quorum of masters. It reaches them through its parameters, so the
// simulator runs it as it is.

import { quorumOf } from '../../lock/quorum.ts';
import type { ReleaseReply } from '../../lock/types.ts';
import { isFailed } from '../../redis/errors.ts';
import type { LockSnapshot } from '../../redis/snapshot.ts';
import type { MasterQuery } from '../master-query.ts';

/** taken: another freeze stands there. In both of the latter nothing of ours is left. */
export type Frozen =
  | { readonly kind: 'frozen'; readonly count: number }
  | { readonly kind: 'taken' }
  | { readonly kind: 'no-quorum' };

/** From the moment when this resolves with `frozen`, no new holder comes. */
export async function freezeLock(
  query: MasterQuery,
  name: string,
  value: string,
  forMs: number,
): Promise<Frozen> {
  const replies = await query.ask((master) => master.freeze(name, value, forMs));
  const count = replies.filter(({ kind }) => kind === 'frozen').length;
  const quorum = quorumOf(replies.length);
  if (count >= quorum) return { kind: 'frozen', count };
  query.reset();
  await query.ask((master) => master.thaw(name, value, ''));
  const takenCount = replies.filter(({ kind }) => kind === 'taken').length;
  return { kind: takenCount > 0 && count + takenCount >= quorum ? 'taken' : 'no-quorum' };
}

/**
 * free: it was not frozen, or is not any more. changed: frozen anew in the meantime, and left
 * alone. `values`: the freezes that were removed.
 */
export type Thawed =
  | { readonly kind: 'thawed'; readonly count: number; readonly values: readonly string[] }
  | { readonly kind: 'free' | 'changed' | 'no-quorum' };

/** Removes exactly the freezes that it has read. `lineFor`: for the history. */
export async function thawLock(
  query: MasterQuery,
  name: string,
  lineFor: (value: string) => string,
): Promise<Thawed> {
  const seen = await frozenOn(query, name);
  const quorum = quorumOf(seen.length);
  if (seen.filter((one) => one !== undefined).length < quorum) return { kind: 'no-quorum' };
  const values = [...new Set(seen.filter((one) => typeof one === 'string'))];
  const removed = new Map<string, number>();
  let isChanged = false;
  for (const value of values) {
    query.reset();
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

/** By master, the freeze; null: none; undefined: no answer. */
export async function frozenOn(
  query: MasterQuery,
  name: string,
): Promise<readonly (string | null | undefined)[]> {
  const answers = await query.ask<readonly LockSnapshot[]>((observer) => observer.look([name]));
  return answers.map((answer) => {
    if (isFailed(answer)) return undefined;
    return answer[0]?.freeze?.value ?? null;
  });
}
