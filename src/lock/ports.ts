// The ports of the algorithm: masters, a clock, random numbers, and the events that it reports. A
// request to a master may fail, be answered late or never, and may have taken effect in each case.
// Reports decide nothing.

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
 * One independent Redis master. Replies never reject: an error is a `Failed`. Requests to it take
 * effect in their order. When `withdrawn` aborts, an unsent request must never be sent. A release
 * removes what an acquire before it has set, answered or not. It is never withdrawn: its value is
 * not used again, so it does no harm when it is late.
 */
export interface Master {
  /** For messages; without secrets. */
  readonly name: string;
  /**
   * Sets our value where the resources are free or ours and no waiter is ahead of us, and counts
   * for the fence. A waiter that is refused enters the queue or keeps its position; each request is
   * its sign of life.
   */
  acquire(claim: Claim, withdrawn: AbortSignal): Promise<AcquireReply>;
  /** Where the value is ours: renews the ttl and raises the counter to at least `fence`. */
  extend(claim: Claim, fence: number | null, withdrawn: AbortSignal): Promise<ExtendReply>;
  /** For a confirmed lease: sets our value where the key is absent or ours, raises the counter. */
  repair(claim: Claim, fence: number | null, withdrawn: AbortSignal): Promise<RepairReply>;
  /**
   * Removes the key where the value is ours; with `keepMs` above 0 lets it expire after that time
   * instead. Leaves the queue, and wakes its first waiter if the key is free then. `line`: an entry
   * of the history, or null. The master may keep it twice or not, and it never fails the release.
   */
  release(claim: Claim, keepMs: number, line: string | null): Promise<ReleaseReply>;
  /** Removes the key after an attempt without a quorum, and keeps our position in the queue. */
  rollback(claim: Claim): Promise<ReleaseReply>;
  /** Only leaves the queue: for a holder of the lock, on a master that has refused it. */
  dequeue(claim: Claim): Promise<ReleaseReply>;
  /** Calls back for each message to this id (waiter-id.ts): '', a wake-up, or a request. */
  subscribe(
    resources: readonly string[],
    id: string,
    onMessage: (message: string) => void,
  ): Promise<Subscription | Failed>;
}

/** Elapsed time. It may run ahead of true time, and never behind it by more than the drift. */
export interface Clock {
  /** Milliseconds since some instant; never goes back, and goes on while the machine sleeps. */
  now(): number;
  /** Resolves after this many ms, or as soon as `cancelled` aborts; never rejects. */
  sleep(durationMs: number, cancelled?: AbortSignal): Promise<void>;
}

const partCount = 10;

/**
 * Sleeps in parts, and counts only the time in which this process ran: a part that takes longer,
 * because the process was stopped or starved, still counts as one. Between two parts what has
 * arrived is read, so an answer that is unread is not taken for silence. The last part, of 1 ms, is
 * for that alone. For limits of another process; the deadlines of a lock are absolute. Resolves at
 * once when `cancelled` aborts.
 */
export async function sleepAwake(
  clock: Clock,
  durationMs: number,
  cancelled: AbortSignal,
): Promise<void> {
  for (let part = 0; part < partCount && !cancelled.aborted; part += 1) {
    await clock.sleep(durationMs / partCount, cancelled);
  }
  await clock.sleep(1, cancelled);
}

/** A number in [0, 1), drawn anew at each call. */
export type Random = () => number;

export type LockEvent =
  | { readonly kind: 'master-failing'; readonly master: string; readonly failed: Failed }
  | { readonly kind: 'master-recovered'; readonly master: string }
  /** A master that came back without our value has it again. */
  | { readonly kind: 'master-repaired'; readonly master: string }
  /** Since the last extension a master's time of day has jumped ahead of ours, or back (< 0). */
  | { readonly kind: 'master-jumped'; readonly master: string; readonly aheadMs: number }
  /** An attempt was refused. `holder` is the value seen on most masters; waiting goes on. */
  | {
      readonly kind: 'waiting';
      readonly holder: string;
      /** How many different values were seen. */
      readonly holderCount: number;
      readonly remainingMs: number | null;
      /** The name that is not free; absent: there is only one. */
      readonly blockedName?: string;
      /** How many waiters are ahead of us in the queue; null: we are not in it yet. */
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
  /** The masters' counters differ, so the fencing number is being written back to them. */
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
   * A host has lately used masters that could grant the lock beside ours: `otherCount` that we do
   * not have, and not `missing`. Reported once.
   */
  | {
      readonly kind: 'masters-differ';
      readonly host: string;
      readonly otherCount: number;
      readonly missing: readonly string[];
    };

export type Report = (event: LockEvent) => void;
