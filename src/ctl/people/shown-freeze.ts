// The freeze of a lock, put together from what the masters show. Pure.

import { parseFreeze } from '../../lock/freeze.ts';
import { parseValue } from '../../lock/value.ts';
import type { SeenFreeze } from '../../redis/snapshot.ts';
import { withBytesEscaped } from '../../text/bytes.ts';
import { freezeLine } from '../../text/lines.ts';
import { printable } from '../../text/printable.ts';

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
