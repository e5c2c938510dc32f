// What holds a lock on one master, in every form of lock. Pure.

import type { Sharing } from '../lock/types.ts';
import { isMark } from '../lock/value.ts';
import type { LockSnapshot } from '../redis/snapshot.ts';

/** One holder, as one master shows it. */
export interface Holding {
  /** The value; of a key that is no string its type in parentheses, which cannot be compared. */
  readonly value: string;
  readonly sharing: Sharing;
  /** null: it never expires by itself. */
  readonly remainingMs: number | null;
}

/**
 * What holds the lock on one master: the value of its key, or for a shared lock the values beside
 * it. *Note:* a key that says "shared" and has no holder beside it still keeps others out until it
 * expires.
 */
export function holdingsOf({ type, value, remainingMs, holders }: LockSnapshot): Holding[] {
  if (type === null) return [];
  if (value === null)
    return [{ value: `(a ${type})`, sharing: { kind: 'exclusive' }, remainingMs }];
  if (!isMark(value)) return [{ value, sharing: { kind: 'exclusive' }, remainingMs }];
  const slotCount = Number(/^slots (\d+)$/.exec(value)?.[1] ?? 0);
  return holders.map((holder) => ({
    value: holder.value,
    sharing: slotCount === 0 ? { kind: 'shared' } : { kind: 'slots', slotCount, slot: holder.slot },
    remainingMs: holder.remainingMs,
  }));
}
