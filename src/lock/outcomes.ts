// What the rounds of redlock.ts come to. Expected outcomes all of them, so they are returned and never thrown.

import type { Contention } from './contention.ts';
import type { MasterFailure } from './events.ts';
import type { Claim } from './ports.ts';

/** A held lock with its validity. It is exclusive until `validUntil`, and not a moment longer unless extended. */
export interface Lease {
  readonly claim: Claim;
  /** When the round that proved it began, read before its first byte was sent. */
  readonly startedAt: number;
  readonly validUntil: number;
  /** The fencing number, the same for the whole life of the lease; null without fencing. */
  readonly fence: number | null;
}

/** A lock that a run around this one has taken, as far as that has told. */
export interface OuterLease {
  readonly names: readonly string[];
  /** Empty where it was not told; then nothing can prove it. */
  readonly token: string;
  readonly fence: number | null;
  readonly ttlMs: number;
}

export type Attempt =
  | { readonly kind: 'acquired'; readonly lease: Lease; readonly grantedCount: number }
  /** See contention.ts for what is known of the holder. */
  | ({ readonly kind: 'busy' } & Contention)
  | { readonly kind: 'unreachable'; readonly failures: readonly MasterFailure[] }
  /** A quorum granted, but so late that too little validity was left to start anything. */
  | { readonly kind: 'too-slow'; readonly elapsedMs: number }
  | { readonly kind: 'unfit'; readonly failures: readonly MasterFailure[] };

/** expired: too few masters still show our value, or showed it only after it had ended; taken: and some show another's. */
export type LossReason = 'taken' | 'expired';

export type Extension =
  | {
      readonly kind: 'extended';
      readonly lease: Lease;
      readonly extendedCount: number;
      /** A waiter for whom we would give it up, as a quorum says; null: there is none. */
      readonly wantedBy: string | null;
    }
  | { readonly kind: 'lost'; readonly reason: LossReason }
  /** Nothing proven either way: the old validity stands, and the extension may be tried again. */
  | { readonly kind: 'unreachable'; readonly failures: readonly MasterFailure[] };

export interface Released {
  readonly releasedCount: number;
  /** A quorum said that our value is gone, so nobody is kept out by it. */
  readonly isConfirmed: boolean;
  /** So many masters did not show it any more that no quorum had it: before its validity has ended, that is a loss. null: not so. */
  readonly missing: LossReason | null;
  readonly failures: readonly MasterFailure[];
}
