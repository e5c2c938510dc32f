// The ports of the algorithm: a master, a clock, random numbers. A request to a master may fail,
// may never be answered or late, and may have taken effect in all three cases.

import type {
  AcquireReply,
  Claim,
  ExtendReply,
  Failed,
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
   * instead. Leaves the queue, and wakes the first waiter in it if the key is free then. `record`
   * is a line for the history (history-record.ts). The master keeps it if it can, perhaps twice; it
   * never makes the release fail.
   */
  release(claim: Claim, keepMs: number, record?: string | null): Promise<ReleaseReply>;
  /** Removes the key after an attempt without a quorum, and keeps our position in the queue. */
  rollback(claim: Claim): Promise<ReleaseReply>;
  /** Only leaves the queue: for a holder of the lock, on a master that has refused it. */
  dequeue(claim: Claim): Promise<ReleaseReply>;
  /** Calls back whenever this master wakes the waiter of the claim; a wake-up has no `message`. */
  subscribe(claim: Claim, onWakeUp: (message: string) => void): Promise<Subscription | Failed>;
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
