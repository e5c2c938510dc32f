// Whether the lock is still held with the token, by what the masters show, and for how long at
// least. A quorum that shows the value confirms that no other client has had the lock since,
// because a lost value never comes back.

import { quorumOf } from '../../lock/quorum.ts';
import type { Sharing } from '../../lock/types.ts';
import type { LockSnapshot } from '../../redis/snapshot.ts';
import { type Holding, holdingsOf } from '../holdings.ts';
import { holdingsByToken, type MasterReport } from '../lock-state.ts';

/** lost: a quorum shows that it is not held with this token. unknown: too few masters answered. */
export type Ownership =
  | {
      readonly kind: 'held';
      readonly value: string;
      readonly sharing: Sharing;
      /** Infinite for a value without an expiry. */
      readonly remainingMs: number;
      readonly fence: number | null;
    }
  | { readonly kind: 'lost' }
  | { readonly kind: 'unknown' };

export function ownershipOf(reports: readonly MasterReport[], token: string): Ownership {
  const quorum = quorumOf(reports.length);
  const { value, sharing } = holdingsByToken(reports).get(token) ?? {};
  const holdingOf = (snapshot: LockSnapshot): Holding | undefined =>
    holdingsOf(snapshot).find((one) => one.value === value);
  const snapshots = reports.flatMap(({ snapshot }) => ('kind' in snapshot ? [] : [snapshot]));
  const own = snapshots.filter((snapshot) => holdingOf(snapshot) !== undefined);
  const silentCount = reports.length - snapshots.length;
  if (value === undefined || sharing === undefined || own.length < quorum) {
    return own.length + silentCount >= quorum ? { kind: 'unknown' } : { kind: 'lost' };
  }
  const remaining = own
    .map((snapshot) => holdingOf(snapshot)?.remainingMs ?? Number.POSITIVE_INFINITY)
    .sort((a, b) => b - a);
  const fences = own.flatMap(({ fence }) => fence ?? []);
  const fence =
    fences.find((one) => fences.filter((other) => other === one).length >= quorum) ?? null;
  return { kind: 'held', value, sharing, remainingMs: remaining[quorum - 1] ?? 0, fence };
}
