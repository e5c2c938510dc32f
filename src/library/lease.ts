// A held lock, as the program sees it; held-lease.ts implements it. A lease never says for certain
// that the lock is held, only for how long a quorum has confirmed it. A program that needs more
// asks the masters again with `extend()`, or gives the fencing number to a resource that checks it.

export interface Lease extends AsyncDisposable {
  /** The first of `resources`. */
  readonly resource: string;
  /** All resources that are held, in the order of the call. */
  readonly resources: readonly string[];
  /** The random part of the value of the key, which proves ownership. */
  readonly token: string;
  /**
   * The fencing number: larger for every later holder of any of the resources; null with `fence:
   * false`. For holders that share the lock see docs/fencing.md.
   */
  readonly fence: number | null;
  /** With `slots`, the number of ours, from 1, which no other holder has; otherwise null. */
  readonly slot: number | null;
  readonly ttlMs: number;
  /**
   * For how many ms from now the lock is confirmed to be held; 0 when that time is over, or it is
   * released. Computed from the clock, so also right after the process was suspended.
   */
  readonly validMs: number;
  /**
   * Fires `reserveMs` before the confirmed validity ends, or as soon as a quorum says that the lock
   * is not ours any more, with a RedlockError `lost` as its reason. It can only ask the work to
   * stop: work that goes on does so without the lock. It does not fire on `release()`.
   */
  readonly signal: AbortSignal;
  /**
   * Asks the masters once to extend the lock by a ttl from now. Rejects with a RedlockError: `lost`
   * when the lock is lost, or `unreachable` when too few masters answered. In the latter case the
   * validity confirmed before still holds, and the call may be repeated.
   */
  extend(): Promise<void>;
  /**
   * Releases the lock on every master that was ever asked. Resolves with true as soon as a quorum
   * has released it, while the requests to the others are still under way. With false when too few
   * masters answered, and then the lock expires within a ttl; and when it was not ours any more: it
   * had run out, or too few masters showed our value, so another client may have held it.
   * Never rejects, however often it is called.
   */
  release(): Promise<boolean>;
}
