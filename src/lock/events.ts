// The events that the lock reports while it works: its only output. They decide nothing.
// *Note:* a failing master is reported when it begins to fail and when it recovers, not per
// request.

import type { Failed, MasterFailure } from './types.ts';

export type LockEvent =
  | { readonly kind: 'master-failing'; readonly master: string; readonly failed: Failed }
  | { readonly kind: 'master-recovered'; readonly master: string }
  /** A master that came back without our value has it again. */
  | { readonly kind: 'master-repaired'; readonly master: string }
  /**
   * Since the last extension a master's time of day has advanced so much more than ours, or less
   * (negative).
   */
  | { readonly kind: 'master-jumped'; readonly master: string; readonly aheadMs: number }
  /** An attempt was refused. `holder` is the value seen on most masters; waiting goes on. */
  | {
      readonly kind: 'waiting';
      readonly holder: string;
      /** How many different values were seen. */
      readonly holderCount: number;
      readonly remainingMs: number | null;
      /** Our position: how many waiters are before us in the queue; null: we are not in it yet. */
      readonly position: number | null;
      readonly waitedMs: number;
    }
  | {
      readonly kind: 'no-quorum';
      readonly failures: readonly MasterFailure[];
      readonly waitedMs: number;
    }
  | {
      readonly kind: 'acquired';
      readonly grantedCount: number;
      readonly elapsedMs: number;
      readonly waitMs: number;
    }
  /** The masters count differently, so the fencing number is being written back to them. */
  | { readonly kind: 'fence-write-back'; readonly fence: number }
  | { readonly kind: 'extended'; readonly extendedCount: number; readonly elapsedMs: number }
  | {
      readonly kind: 'extension-failed';
      readonly failures: readonly MasterFailure[];
      readonly validMs: number;
    }
  | { readonly kind: 'released'; readonly releasedCount: number; readonly keepMs: number }
  /** Fewer than a quorum confirmed the release; keys may remain for at most `remainingMs`. */
  | {
      readonly kind: 'release-unconfirmed';
      readonly failures: readonly MasterFailure[];
      readonly remainingMs: number;
    };

export type Report = (event: LockEvent) => void;
