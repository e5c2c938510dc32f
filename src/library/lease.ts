// What a program holds while it holds a lock: a contract, kept by held-lease.ts. The surprise: a lease never says for certain that the
// lock is held, only for how long it is proven; who needs more asks the masters again with `extend()`, or gives the fencing number
// to a resource that can check it.

export interface Lease extends AsyncDisposable {
  /** The first of `resources`. */
  readonly resource: string;
  /** All that are held, as they were asked for. */
  readonly resources: readonly string[];
  /** The random part of what the key holds; the proof that it is ours. */
  readonly token: string;
  /** Larger for every later holder of any of the resources (of those who hold it together: docs/fencing.md); null with `fence: false`. */
  readonly fence: number | null;
  readonly ttlMs: number;
  /** For how many ms from now the lock is proven to be ours; 0 when that is over. By the clock, so also right after a stall. */
  readonly validMs: number;
  /**
   * Fires `reserveMs` before the proven validity ends, or as soon as a quorum says that the lock is not ours any more, with a
   * RedlockError `lost` as its reason. It only asks: whoever goes on does so without a lock. It does not fire on `release()`.
   */
  readonly signal: AbortSignal;
  /**
   * Asks the masters once to let the lock live for another ttl, from now. Rejects with a RedlockError: `lost` when it is, or
   * `unreachable` when too few answered; then the validity that was proven before stands, and this may be tried again.
   */
  extend(): Promise<void>;
  /**
   * Gives the lock back, on every master that was ever asked. Resolves with true as soon as a quorum has let go of it, the others being
   * on their way, and with false when that cannot be; then it runs out by itself within a ttl. Never rejects, however often it is called.
   */
  release(): Promise<boolean>;
}
