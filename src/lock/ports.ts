// The ports of the algorithm: what it is given (masters, a clock, random numbers) and what it
// reports. A request to a master may fail, may never be answered or late, and may have taken effect
// in all three cases. Reports decide nothing.

import type {
  AcquireReply,
  Claim,
  ExtendReply,
  Failed,
  MasterFailure,
  ReleaseReply,
  RepairReply,
} from './types.ts';

/** Listens for wake-ups. A wake-up is a hint: it may be lost, and it may come too early. */
export interface Subscription {
  close(): void;
}

/**
 * One independent Redis master. Replies never reject: an error is a `Failed`.
 *
 * When `withdrawn` aborts, a request that has not been sent yet must never be sent. Requests to one
 * master take effect in the order in which they were made. A release that follows an acquire
 * removes what it set even if the acquire was never answered. A release is never withdrawn: its
 * value is not used again, so a late release does no harm.
 */
export interface Master {
  /** For messages; without secrets. */
  readonly name: string;
  /**
   * Sets our value where the resources are free or ours already and no waiter is before us in the
   * queue, and counts for the fence. A waiter that is refused enters the queue or keeps its
   * position; every request is its sign of life.
   */
  acquire(claim: Claim, withdrawn: AbortSignal): Promise<AcquireReply>;
  /**
   * Where the value is ours: sets the time to live anew and raises the counter of the fence to at
   * least `fence`. Otherwise writes nothing.
   */
  extend(claim: Claim, fence: number | null, withdrawn: AbortSignal): Promise<ExtendReply>;
  /**
   * Sets our value where the key is absent (or ours), and raises the counter. Only for a holder
   * whose lease is confirmed.
   */
  repair(claim: Claim, fence: number | null, withdrawn: AbortSignal): Promise<RepairReply>;
  /**
   * Removes the key where the value is ours; with `keepMs` above 0 lets it expire after that time
   * instead. Leaves the queue, and wakes the first waiter in it if the key is free then. `line`
   * is for the history (history.ts); null: none. The master keeps it if it can, perhaps twice; it
   * never makes the release fail.
   */
  release(claim: Claim, keepMs: number, line: string | null): Promise<ReleaseReply>;
  /** Removes the key after an attempt without a quorum, and keeps our position in the queue. */
  rollback(claim: Claim): Promise<ReleaseReply>;
  /** Only leaves the queue: for a holder of the lock, on a master that has refused it. */
  dequeue(claim: Claim): Promise<ReleaseReply>;
  /**
   * Calls back for all that this master sends to this id (waiter-id.ts): a wake-up, which has no
   * `message`, or a person's request.
   */
  subscribe(
    resources: readonly string[],
    id: string,
    onMessage: (message: string) => void,
  ): Promise<Subscription | Failed>;
}

/** Elapsed time. It may run ahead of true time, and never behind it by more than the drift. */
export interface Clock {
  /**
   * Milliseconds since some instant; never goes back, does not stand still while the machine
   * sleeps.
   */
  now(): number;
  /** Resolves after so many ms by this clock, or as soon as `cancelled` aborts; never rejects. */
  sleep(durationMs: number, cancelled?: AbortSignal): Promise<void>;
}

/** A number in [0, 1), drawn anew at each call. */
export type Random = () => number;

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
      /** Of several names the one that is not free; absent: there is only one. */
      readonly blockedName?: string;
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
  | { readonly kind: 'fence-raised'; readonly fence: number }
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
    }
  /**
   * A host has lately used masters that could grant the lock beside ours: it has `otherCount`
   * masters that we do not have, and lacks `missing`. Reported once.
   */
  | {
      readonly kind: 'masters-differ';
      readonly host: string;
      readonly otherCount: number;
      readonly missing: readonly string[];
    };

export type Report = (event: LockEvent) => void;
