// Over one lease while it is held: extends it where that is wanted, and tells when it is lost or its proven time is nearly over. It
// releases nothing. The surprise: the end goes by the local clock alone, so no answer that does not come can put it off.

import type { Report } from '../lock/events.ts';
import { keepAlive, stopAtOf } from '../lock/keep-alive.ts';
import type { Clock } from '../lock/ports.ts';
import type { Lease, LossReason, Redlock } from '../lock/redlock.ts';
import type { LostReason } from './error.ts';
import type { Timings } from './timings.ts';

export interface WatchParts {
  readonly redlock: Redlock;
  readonly clock: Clock;
  readonly timings: Timings;
  readonly isKeptAlive: boolean;
  readonly report: Report;
  /** Told once at most; `bug` is one of ours, for which the lease is not counted on any longer. */
  readonly onLost: (reason: LostReason, bug?: unknown) => void;
}

/** An end that is noticed so much too late was not held up by a busy machine. */
const stalledMs = 500;

export class Watch {
  readonly #parts: WatchParts;
  readonly #ended = new AbortController();
  #lease: Lease;

  constructor(lease: Lease, parts: WatchParts) {
    this.#lease = lease;
    this.#parts = parts;
    const give = (bug: unknown) => this.#lose('stalled', bug);
    this.#sound().catch(give);
    if (parts.isKeptAlive) this.#extend().catch(give);
  }

  /** The lease as it was proven last. */
  get lease(): Lease {
    return this.#lease;
  }

  /** Aborts when nothing may be sent any more that would extend it. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Takes note of an extension; one that is older than what is known counts for nothing. */
  prove(lease: Lease): void {
    if (!this.ended.aborted && lease.validUntil > this.#lease.validUntil) this.#lease = lease;
  }

  /** A quorum has said that the lock is not ours any more. */
  disprove(reason: LossReason): void {
    this.#lease = { ...this.#lease, validUntil: this.#parts.clock.now() };
    this.#lose(reason);
  }

  end(): void {
    this.#ended.abort();
  }

  async #extend(): Promise<void> {
    const { redlock, clock, timings, report } = this.#parts;
    // Nobody is given way to, so nobody is wanted by anyone.
    const keeper = { onLease: (lease: Lease) => this.prove(lease), onWanted: () => {} };
    const reason = await keepAlive(redlock, this.#lease, timings, clock, Math.random, keeper, this.ended, report);
    if (reason !== null) this.disprove(reason);
  }

  async #sound(): Promise<void> {
    const { clock, timings, isKeptAlive } = this.#parts;
    for (;;) {
      const leftMs = stopAtOf(this.#lease, timings.reserveMs) - clock.now();
      if (this.ended.aborted) return;
      if (leftMs <= -stalledMs) return this.#lose('stalled');
      if (leftMs <= 0) return this.#lose(isKeptAlive ? 'unreachable' : 'expired');
      await clock.sleep(leftMs, this.ended);
    }
  }

  #lose(reason: LostReason, bug?: unknown): void {
    if (this.ended.aborted) return;
    this.end();
    this.#parts.onLost(reason, bug);
  }
}
