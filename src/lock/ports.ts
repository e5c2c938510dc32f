// The contracts between the algorithm and the world: a master, a clock, chance. A call on a master may
// fail, may never answer, may answer late, and may have taken effect in all three cases.

import type {
  AcquireReply,
  Claim,
  ExtendReply,
  Failed,
  ReleaseReply,
  RepairReply,
} from './types.ts';

/** An ear for the call that it is our turn. It is a hint: it may be lost, and may come when it is not. */
export interface Subscription {
  close(): void;
}

/**
 * One independent Redis master. Replies never reject: trouble is a `Failed`. `withdrawn` says that the caller no longer
 * wants the call made: what was not sent by then must never be sent (what was sent cannot be unsent). Calls on one
 * master take effect in the order in which they were made; a release that follows an acquire undoes it also when the
 * acquire has not been answered, and is never withdrawn: a value that was released is not used again, so late is not wrong.
 */
export interface Master {
  /** For messages; without secrets. */
  readonly name: string;
  /**
   * Sets our value where the resources are free for us or ours already and nobody is before us in the queue, and counts for
   * the fence. A waiter that is refused takes or keeps his place; every call is his sign of life.
   */
  acquire(claim: Claim, withdrawn: AbortSignal): Promise<AcquireReply>;
  /**
   * Where the value is ours: sets the time to live anew and raises the counter of the fence to at least `fence`. Writes
   * nothing otherwise.
   */
  extend(claim: Claim, fence: number | null, withdrawn: AbortSignal): Promise<ExtendReply>;
  /** Sets our value where the key is absent (or ours), and raises the counter: for a holder whose lease is proven. */
  repair(claim: Claim, fence: number | null, withdrawn: AbortSignal): Promise<RepairReply>;
  /**
   * Removes the key where the value is ours, or with `keepMs` above 0 lets it expire so much later instead. Gives up our place
   * in the queue, and calls the first in it where the key is free then. `record` is a line for the history (history-record.ts), which is kept
   * as far as the master can, and perhaps twice; it never costs the release anything.
   */
  release(claim: Claim, keepMs: number, record?: string | null): Promise<ReleaseReply>;
  /** The same after an attempt that did not win a quorum: the key goes, our place in the queue stays. */
  rollback(claim: Claim): Promise<ReleaseReply>;
  /** Gives up our place in the queue, and nothing else: for who holds the lock on a quorum, where a master has refused him. */
  dequeue(claim: Claim): Promise<ReleaseReply>;
  /** Calls back whenever the waiter of the claim is called on this master. */
  subscribe(claim: Claim, onWakeUp: () => void): Promise<Subscription | Failed>;
}

/** Elapsed time. Pessimistic: it may run ahead of true time, and never behind it by more than the drift allowance. */
export interface Clock {
  /** Milliseconds since some instant; never goes back, does not stand still while the machine sleeps. */
  now(): number;
  /** Resolves after so many ms by this clock, or as soon as `cancelled` aborts; never rejects. */
  sleep(durationMs: number, cancelled?: AbortSignal): Promise<void>;
}

/** A number in [0, 1), drawn anew at each call. */
export type Random = () => number;
