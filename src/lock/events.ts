// Everything that the lock tells an onlooker while it works. It is the core's only way to speak; nothing here decides
// anything. The surprise: a failing master is told once when it begins to fail and once when it recovers, not per call.

import type { Failed, MasterFailure } from './types.ts';

export type LockEvent =
  | { readonly kind: 'master-failing'; readonly master: string; readonly failed: Failed }
  | { readonly kind: 'master-recovered'; readonly master: string }
  /** A master that came back without our value shows it again. */
  | { readonly kind: 'master-repaired'; readonly master: string }
  /** A master's time of day went so much further than ours since the last extension, or came behind it (negative). */
  | { readonly kind: 'master-jumped'; readonly master: string; readonly aheadMs: number }
  /** An attempt found the lock held. `holder` is the value seen on most masters; waiting goes on. */
  | {
      readonly kind: 'waiting';
      readonly holder: string;
      /** How many different values were seen. */
      readonly holderCount: number;
      readonly remainingMs: number | null;
      /** How many are before us in the queue; null: we have no place yet. */
      readonly place: number | null;
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
  /** The masters counted differently, so the fencing number is being written back to them. */
  | { readonly kind: 'fence-write-back'; readonly fence: number }
  | { readonly kind: 'extended'; readonly extendedCount: number; readonly elapsedMs: number }
  | {
      readonly kind: 'extension-failed';
      readonly failures: readonly MasterFailure[];
      readonly validMs: number;
    }
  | { readonly kind: 'released'; readonly releasedCount: number; readonly keepMs: number }
  /** Fewer than a quorum confirmed; keys may stand for at most `remainingMs`. */
  | {
      readonly kind: 'release-unconfirmed';
      readonly failures: readonly MasterFailure[];
      readonly remainingMs: number;
    };

export type Report = (event: LockEvent) => void;
