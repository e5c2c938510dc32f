// What holds or bars a lock, by what the masters show: holders, in every form of lock, and a
// freeze. Pure.

import { parseFreeze } from '../lock/people.ts';
import type { Sharing } from '../lock/types.ts';
import { isMode, parseValue, sharingIn } from '../lock/value.ts';
import type { LockSnapshot, SeenFreeze } from '../redis/snapshot.ts';
import { withBytesEscaped } from '../text/bytes.ts';
import { printable } from '../text/foreign-text.ts';
import { freezeLine } from '../text/lines.ts';

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
  if (!isMode(value)) return [{ value, sharing: { kind: 'exclusive' }, remainingMs }];
  return holders.map((holder) => ({
    value: holder.value,
    sharing: sharingIn(value, holder.slot),
    remainingMs: holder.remainingMs,
  }));
}

/** As --json prints it; `user` and so on are null for a value that redlockctl has not set. */
export interface ShownFreeze {
  readonly token: string;
  readonly user: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  /** ISO 8601, by the clock of the host. */
  readonly since: string | null;
  readonly note: string | null;
  /** When a quorum has none any more, unless it is thawed before; null: only then. */
  readonly remainingMs: number | null;
  /** The number of masters that show it. */
  readonly votes: number;
}

/** The freeze that most masters show, of those that answered; null: none of them shows one. */
export function shownFreezeOf(seen: readonly (SeenFreeze | null)[]): ShownFreeze | null {
  const found = seen.filter((one) => one !== null);
  const votesOf = (value: string) => found.filter((one) => one.value === value).length;
  const [most] = found.toSorted((a, b) => votesOf(b.value) - votesOf(a.value));
  if (most === undefined) return null;
  const { value } = most;
  const ends = found.flatMap((one) => (one.value === value ? [one.remainingMs] : []));
  const remainingMs = ends.includes(null) ? null : Math.max(...ends.map(Number));
  const freeze = parseFreeze(value);
  const { user = null, host = null, pid = null, since = null, note = null } = freeze ?? {};
  const token = withBytesEscaped(parseValue(value).token);
  return { token, user, host, pid, since, note, remainingMs, votes: votesOf(value) };
}

/** `frozen by ops@web1 since 2026-11-21T02:00:00Z: "no deploys today"; until it is thawed` */
export function describeFreeze(freeze: ShownFreeze): string {
  const { user, host, since, note, remainingMs } = freeze;
  if (user === null || host === null || since === null || note === null)
    return `frozen by another program (token ${printable(freeze.token, 40)})`;
  return freezeLine({ user, host, since, note }, remainingMs);
}
