// Who stands on one master, and how: the holder whose value the key shows, or those beside it who hold the lock together. Pure. The
// surprise: a key that is marked and has no holder beside it is nobody's, but keeps others out until it expires.

import type { Sharing } from '../lock/ports.ts';
import { isMark } from '../lock/sharing.ts';
import type { Sight } from '../redis/inspector.ts';

export interface Holding {
  /** What stands there; of a key that is no string its type in parentheses, which cannot be compared. */
  readonly value: string;
  readonly sharing: Sharing;
  /** null: it never expires by itself. */
  readonly remainingMs: number | null;
}

export function holdingsOf({ type, value, remainingMs, holders }: Sight): Holding[] {
  if (type === null) return [];
  if (value === null) return [{ value: `(a ${type})`, sharing: { kind: 'exclusive' }, remainingMs }];
  if (!isMark(value)) return [{ value, sharing: { kind: 'exclusive' }, remainingMs }];
  const slotCount = Number(/^slots (\d+)$/.exec(value)?.[1] ?? 0);
  return holders.map((holder) => ({
    value: holder.value,
    sharing: slotCount === 0 ? { kind: 'shared' } : { kind: 'slots', slotCount, slot: holder.slot },
    remainingMs: holder.remainingMs,
  }));
}
