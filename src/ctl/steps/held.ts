// What the masters show of one lock under one token: whether it is still held, and until when at the least. Pure. The surprise: a
// quorum that shows the value proves that nobody else has had the lock since, because a value that is lost never comes back.

import { quorumOf } from '../../lock/quorum.ts';
import type { Sharing } from '../../lock/types.ts';
import type { LockSnapshot } from '../../redis/snapshot.ts';
import { type Holding, holdingsByToken, holdingsOf, type MasterReport } from '../lock-state.ts';

/** lost: a quorum says that it is not held with this token. unknown: too few masters answered to tell. */
export type Ownership =
  | {
      readonly kind: 'held';
      readonly value: string;
      readonly sharing: Sharing;
      /** Infinite for a value that never expires. */
      readonly remainingMs: number;
      readonly fence: number | null;
    }
  | { readonly kind: 'lost' }
  | { readonly kind: 'unknown' };

export function ownershipOf(reports: readonly MasterReport[], token: string): Ownership {
  const quorum = quorumOf(reports.length);
  const { value, sharing } = holdingsByToken(reports).get(token) ?? {};
  const holdingOf = (sight: LockSnapshot): Holding | undefined =>
    holdingsOf(sight).find((one) => one.value === value);
  const sights = reports.flatMap(({ sight }) => ('kind' in sight ? [] : [sight]));
  const own = sights.filter((sight) => holdingOf(sight) !== undefined);
  const silentCount = reports.length - sights.length;
  if (value === undefined || sharing === undefined || own.length < quorum) {
    return own.length + silentCount >= quorum ? { kind: 'unknown' } : { kind: 'lost' };
  }
  const remaining = own
    .map((sight) => holdingOf(sight)?.remainingMs ?? Number.POSITIVE_INFINITY)
    .sort((a, b) => b - a);
  const fences = own.flatMap(({ fence }) => fence ?? []);
  const fence =
    fences.find((one) => fences.filter((other) => other === one).length >= quorum) ?? null;
  return { kind: 'held', value, sharing, remainingMs: remaining[quorum - 1] ?? 0, fence };
}
