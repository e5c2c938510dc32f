// A lease of the library: the core's lease, watched, with the signal for whoever works under it. The surprise: losing the lock releases
// nothing. Whoever works may need the rest of the validity to stop, and until that has ended nobody else should be let in.

import { failuresLine, whichOf } from '../cli/lines.ts';
import { parseValue } from '../lock/holder.ts';
import type { Lease as CoreLease } from '../lock/redlock.ts';
import { lostError } from './complaint.ts';
import { type LostReason, RedlockError } from './error.ts';
import type { Lease } from './lease.ts';
import { Watch, type WatchParts } from './watch.ts';

export interface HeldLeaseParts extends Omit<WatchParts, 'onLost'> {
  /** It was released, or has run out: there is nothing to wait for any more. */
  readonly onOver: () => void;
}

export class HeldLease implements Lease {
  readonly resource: string;
  readonly resources: readonly string[];
  readonly token: string;
  readonly fence: number | null;
  readonly ttlMs: number;
  readonly #parts: HeldLeaseParts;
  readonly #watch: Watch;
  readonly #losing = new AbortController();
  readonly #releasingBegan = new AbortController();
  #releasing: Promise<boolean> | null = null;
  #lateLoss: RedlockError | null = null;

  constructor(lease: CoreLease, parts: HeldLeaseParts) {
    const { resources, value, ttlMs } = lease.claim;
    this.resource = resources[0] ?? '';
    this.resources = resources;
    this.token = parseValue(value).token;
    this.fence = lease.fence;
    this.ttlMs = ttlMs;
    this.#parts = parts;
    this.#watch = new Watch(lease, { ...parts, onLost: (reason, bug) => this.lose(reason, bug) });
  }

  get validMs(): number {
    if (this.#releasing) return 0;
    return Math.max(0, Math.floor(this.#watch.lease.validUntil - this.#parts.clock.now()));
  }

  get signal(): AbortSignal {
    return this.#losing.signal;
  }

  /** Why the lock cannot be counted on; null while it can. Looks at the clock: after a stall no timer has had a chance yet. */
  get loss(): RedlockError | null {
    if (this.validMs === 0) this.lose('stalled');
    return this.signal.aborted ? (this.signal.reason as RedlockError) : null;
  }

  /** That somebody else had the lock before it was released, as came out then; null: not so. */
  get lateLoss(): RedlockError | null {
    return this.#lateLoss;
  }

  /** From now on nothing extends the lock, and the signal has fired; without effect on one that was released. */
  lose(reason: LostReason, cause?: unknown): void {
    if (this.#releasing || this.signal.aborted) return;
    this.#watch.end();
    this.#losing.abort(lostError(this.resources, reason, cause));
    if (reason === 'expired') void this.#forget();
  }

  async extend(): Promise<void> {
    this.#refuseIfOver();
    const { redlock, report } = this.#parts;
    const { lease, ended } = this.#watch;
    const extension = await redlock.extend(lease, ended);
    this.#refuseIfOver();
    switch (extension.kind) {
      case 'extended':
        return this.#watch.prove(extension.lease);
      case 'lost':
        this.#watch.disprove(extension.reason);
        throw this.signal.reason;
      default: {
        const { failures } = extension;
        report({ kind: 'extension-failed', failures, validMs: this.validMs });
        const why = `${failuresLine(failures)} (valid for another ${this.validMs} ms; try again)`;
        throw new RedlockError('unreachable', `not extended: ${whichOf(this.resources)}: ${why}`, { failures });
      }
    }
  }

  release(): Promise<boolean> {
    this.#releasing ??= this.#release();
    return this.#releasing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /**
   * Resolves when the lock has been given back, or its validity has ended without that. From then on nothing more is sent: the
   * connections may be ended.
   */
  async over(): Promise<void> {
    const { clock } = this.#parts;
    await clock.sleep(this.#watch.lease.validUntil - clock.now(), this.#releasingBegan.signal);
    this.#releasing ??= Promise.resolve(false);
    this.#releasingBegan.abort();
    await this.#releasing;
  }

  #refuseIfOver(): void {
    if (this.#releasing) throw lostError(this.resources, 'released');
    if (this.loss) throw this.loss;
  }

  /** What a program lets run out on purpose is forgotten on our side when the masters have forgotten it. */
  async #forget(): Promise<void> {
    const { clock, timings } = this.#parts;
    const goneAt = this.#watch.lease.startedAt + this.ttlMs + timings.masterTimeoutMs;
    await clock.sleep(goneAt - clock.now(), this.#releasingBegan.signal);
    await this.release();
  }

  async #release(): Promise<boolean> {
    const { redlock, clock, report, onOver } = this.#parts;
    const { claim, validUntil } = this.#watch.lease;
    this.#watch.end();
    this.#releasingBegan.abort();
    const { releasedCount, isConfirmed, missing, failures } = await redlock.releaseOnQuorum(claim);
    const isLoss = missing === 'taken' && !this.signal.aborted && clock.now() < validUntil;
    if (isLoss) this.#lateLoss = lostError(this.resources, missing);
    if (isConfirmed) report({ kind: 'released', releasedCount, keepMs: 0 });
    else report({ kind: 'release-unconfirmed', failures, remainingMs: claim.ttlMs });
    onOver();
    return isConfirmed;
  }
}
