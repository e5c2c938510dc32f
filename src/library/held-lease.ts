// A lease of the library: the lease of the core, its keeper, and the signal for the work under it.
// *Invariant:* a lost lock is not released. The work may need the rest of the validity to stop, and
// no other client may acquire the lock before that.

import { type KeeperLossReason, type KeeperPorts, LeaseKeeper } from '../lock/lease-keeper.ts';
import type { Redlock } from '../lock/redlock.ts';
import type { LockTimings } from '../lock/timings.ts';
import type { Lease as CoreLease } from '../lock/types.ts';
import { failuresLine, whichOf } from '../text/lines.ts';
import { type LostReason, lostError, RedlockError } from './error.ts';
import type { Lease } from './lease.ts';

type Ports = KeeperPorts & { readonly redlock: Redlock };

export class HeldLease implements Lease {
  readonly resource: string;
  readonly resources: readonly string[];
  readonly token: string;
  readonly fence: number | null;
  readonly slot: number | null;
  readonly ttlMs: number;
  readonly #ports: Ports;
  readonly #masterTimeoutMs: number;
  readonly #isKeptAlive: boolean;
  readonly #onOver: () => void;
  readonly #keeper: LeaseKeeper;
  readonly #losing = new AbortController();
  readonly #releasingBegan = new AbortController();
  #releasing: Promise<boolean> | null = null;
  #lateLoss: RedlockError | null = null;
  /** A quorum has answered that the lock is not ours any more. */
  #isDisproved = false;

  /** `onOver`: called when the lock was released or has expired. */
  constructor(
    lease: CoreLease,
    slot: number | null,
    timings: LockTimings,
    isKeptAlive: boolean,
    ports: Ports,
    onOver: () => void,
  ) {
    const { resources, token, ttlMs } = lease.claim;
    this.resource = resources[0] ?? '';
    this.resources = resources;
    this.token = token;
    this.fence = lease.fence;
    this.slot = slot;
    this.ttlMs = ttlMs;
    this.#ports = ports;
    this.#masterTimeoutMs = timings.masterTimeoutMs;
    this.#isKeptAlive = isKeptAlive;
    this.#onOver = onOver;
    this.#keeper = new LeaseKeeper(lease, { ...timings, marginMs: 0 }, ports, (event) => {
      if (event.kind === 'lost') this.#onLost(event.reason);
      // The renewal has stopped, so the work has to stop as well.
      if (event.kind === 'bug') this.lose('suspended', event.bug);
    });
    this.#keeper.begin(isKeptAlive);
  }

  get validMs(): number {
    return this.#releasing ? 0 : Math.max(0, Math.floor(this.#leftMs));
  }

  get signal(): AbortSignal {
    return this.#losing.signal;
  }

  /**
   * Why the lock is lost; null while it is held. It looks at the clock, because after the process
   * was suspended no timer has fired yet.
   */
  get loss(): RedlockError | null {
    if (this.validMs === 0) this.lose('suspended');
    return this.signal.aborted ? (this.signal.reason as RedlockError) : null;
  }

  /** The loss that only the release has shown: another client held the lock by then; null: none. */
  get lateLoss(): RedlockError | null {
    return this.#lateLoss;
  }

  /** Stops extending the lock, and fires the signal. Without effect after a release. */
  lose(reason: LostReason, cause?: unknown): void {
    if (this.#releasing || this.signal.aborted) return;
    this.#keeper.end();
    this.#losing.abort(lostError(this.resources, reason, cause));
    if (reason === 'expired') void this.#forget();
  }

  async extend(): Promise<void> {
    this.#refuseIfOver();
    const extension = await this.#keeper.extend();
    this.#refuseIfOver();
    if (extension.kind === 'extended') return;
    if (extension.kind === 'lost') {
      this.#onLost(extension.reason);
      throw this.signal.reason;
    }
    const { failures } = extension;
    const why = `${failuresLine(failures)} (valid for another ${this.validMs} ms; try again)`;
    throw new RedlockError('unreachable', `not extended: ${whichOf(this.resources)}: ${why}`, {
      failures,
    });
  }

  release(): Promise<boolean> {
    this.#releasing ??= this.#release();
    return this.#releasing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /**
   * Resolves when the lock is released, or when its validity has ended. From then on nothing is
   * sent to the masters, so that the connections may be closed.
   */
  async over(): Promise<void> {
    await this.#ports.clock.sleep(this.#leftMs, this.#releasingBegan.signal);
    this.#releasing ??= Promise.resolve(false);
    this.#releasingBegan.abort();
    await this.#releasing;
  }

  /** The rest of the confirmed validity in ms; may be negative. */
  get #leftMs(): number {
    return this.#isDisproved ? 0 : this.#keeper.lease.validUntil - this.#ports.clock.now();
  }

  #onLost(reason: KeeperLossReason): void {
    if (reason === 'taken' || reason === 'expired') this.#isDisproved = true;
    const isOver = reason === 'unreachable' && !this.#isKeptAlive;
    this.lose(isOver ? 'expired' : reason);
  }

  #refuseIfOver(): void {
    if (this.#releasing) throw lostError(this.resources, 'released');
    if (this.loss) throw this.loss;
  }

  /** Releases a lock that a program let expire, when its keys have expired on the masters. */
  async #forget(): Promise<void> {
    const expiredAt = this.#keeper.lease.startedAt + this.ttlMs + this.#masterTimeoutMs;
    await this.#ports.clock.sleep(expiredAt - this.#ports.clock.now(), this.#releasingBegan.signal);
    await this.release();
  }

  async #release(): Promise<boolean> {
    const hasRunOut = this.#leftMs <= 0;
    this.#keeper.end();
    this.#releasingBegan.abort();
    const { redlock, report } = this.#ports;
    const released = await redlock.releaseOnQuorum(this.#keeper.lease.claim);
    const { releasedCount, isConfirmed, missing, failures } = released;
    if (missing === 'taken' && this.#leftMs > 0 && !this.signal.aborted)
      this.#lateLoss = lostError(this.resources, missing);
    const isReleased = isConfirmed && missing === null && !hasRunOut;
    if (isReleased) report({ kind: 'released', releasedCount, keepMs: 0 });
    if (!isConfirmed) {
      const remainingMs = this.#keeper.standsForMs(0);
      report({ kind: 'release-unconfirmed', failures, remainingMs });
    }
    this.#onOver();
    return isReleased;
  }
}
