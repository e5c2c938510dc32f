// Keeps one lease: extends it again and again, and reports when the work under it must be stopped,
// and then killed, because no extension has succeeded in time. It stops, kills and releases nothing
// itself. Both deadlines depend on the local clock alone, so a missing answer cannot delay them.
// *Invariant:* nothing is extended once stopping is due. After a suspension (a stopped process, a
// sleeping machine) the clock is read first: if stopping is due, the work is stopped, not extended.

import type { HolderChannel, Listen, Person } from './people.ts';
import type { Clock, Random, Report } from './ports.ts';
import type { HeldLock } from './redlock.ts';
import type { RunTimings } from './timings.ts';
import type { Claim, Extension, Lease, LossReason } from './types.ts';
import { holderIdOf } from './waiter-id.ts';

/**
 * taken, expired: a quorum says so. unreachable: no quorum has confirmed the lease in time.
 * suspended: this process did not run when the alarm was due (SIGSTOP, a sleeping machine).
 */
export type KeeperLossReason = LossReason | 'unreachable' | 'suspended';

/** What happens to a lease. It goes on after `replaced` and `stop-asked`. */
export type LeaseEvent =
  /** An extension has confirmed it. */
  | { readonly kind: 'confirmed'; readonly lease: Lease }
  /** `by`: the operator who reports to have broken the lock. */
  | { readonly kind: 'lost'; readonly reason: KeeperLossReason; readonly by?: Person }
  /** A quorum names this waiter, by which the holder is to be replaced. */
  | { readonly kind: 'replaced'; readonly by: string }
  /** An operator requests that the work stops. */
  | { readonly kind: 'stop-asked'; readonly by: Person }
  /** SIGKILL is due. */
  | { readonly kind: 'kill-due' }
  /** An error that is a bug of redlock-run. */
  | { readonly kind: 'bug'; readonly bug: unknown };

/** What is noticed later than this was not delayed by a busy machine, but by a suspension. */
const suspendedMs = 500;

/**
 * When listening begins: work that has ended by then costs the masters no second connection, and
 * any command has been started by then.
 */
const listenAfterMs = 250;

/**
 * The least time between two extensions that operators request: every client can send such a
 * request, and every master can forge one.
 */
const minRequestedGapMs = 1_000;

/** When the work under this lease must be stopped or killed, unless it is extended before. */
export function deadlineOf(lease: Lease, reserveMs: number): number {
  return lease.validUntil - reserveMs;
}

/** For how many ms from `now` keys may stand that were set at `setAt` and may be kept by then. */
export function standsForMs(setAt: number, { ttlMs }: Claim, keepMs: number, now: number): number {
  return Math.max(0, keepMs, setAt + ttlMs - now);
}

/** What the keeper of a lease is given, by runs, daemons, the library and the simulator. */
export interface KeeperPorts {
  readonly redlock: HeldLock;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  /** Subscribes to the requests of operators; null: they are not received. */
  readonly listen: Listen | null;
}

/** `marginMs`: 0 where nothing is killed. */
type KeeperTimings = Pick<
  RunTimings,
  'extendEveryMs' | 'masterTimeoutMs' | 'reserveMs' | 'marginMs'
>;

export class LeaseKeeper {
  readonly #timings: KeeperTimings;
  readonly #ports: KeeperPorts;
  readonly #onEvent: (event: LeaseEvent) => void;
  readonly #extendingEnded = new AbortController();
  readonly #ended = new AbortController();
  #lease: Lease;
  #extensionCount = 0;
  #channel: HolderChannel | null = null;
  #brokenBy: Person | null = null;
  /**
   * Ends the present pause: nothing is extended any more, or the lease is to be extended before its
   * time. Renewed, and not made of other signals: those would keep each one for as long as we live.
   */
  #pausing = new AbortController();
  /** When keys were last set anew, confirmed or not. */
  #setAt: number;

  constructor(
    lease: Lease,
    timings: KeeperTimings,
    ports: KeeperPorts,
    onEvent: (event: LeaseEvent) => void,
  ) {
    this.#lease = lease;
    this.#setAt = lease.startedAt;
    this.#timings = timings;
    this.#ports = ports;
    this.#onEvent = onEvent;
  }

  /** Begins to watch the deadlines and, unless the caller extends it, to extend the lease. */
  begin(isExtending: boolean): void {
    const onBug = (bug: unknown) => this.#onEvent({ kind: 'bug', bug });
    this.#soundAlarms().catch(onBug);
    if (isExtending) this.#keepExtending().catch(onBug);
    this.#listen().catch(onBug);
  }

  /** As it was confirmed last. */
  get lease(): Lease {
    return this.#lease;
  }

  /**
   * For how many ms keys may stand where no release arrives: one that was kept for `keepMs`, or one
   * that an extension has set anew, though its answer never came.
   */
  standsForMs(keepMs: number): number {
    return standsForMs(this.#setAt, this.#lease.claim, keepMs, this.#ports.clock.now());
  }

  get extensionCount(): number {
    return this.#extensionCount;
  }

  /** Whether stopping must have begun. */
  get isStopDue(): boolean {
    return this.#overdueMs >= 0;
  }

  /** Why the lease is lost where stopping is due: by how late this process notices it. */
  get overdueReason(): 'suspended' | 'unreachable' {
    return this.#overdueMs > suspendedMs ? 'suspended' : 'unreachable';
  }

  get #overdueMs(): number {
    return this.#ports.clock.now() - deadlineOf(this.#lease, this.#timings.reserveMs);
  }

  /** Extends the lease once, now. An answer after the end of extending changes nothing. */
  async extend(): Promise<Extension> {
    const { redlock, clock, report } = this.#ports;
    const extendingEnded = this.#extendingEnded.signal;
    const askedAt = clock.now();
    this.#setAt = askedAt;
    const extension = await redlock.extend(this.#lease, extendingEnded);
    const now = clock.now();
    this.#setAt = now;
    if (extendingEnded.aborted) return extension;
    if (extension.kind === 'extended') {
      this.#confirm(extension.lease);
      const { extendedCount } = extension;
      report({ kind: 'extended', extendedCount, elapsedMs: now - askedAt });
    } else if (extension.kind === 'unreachable') {
      const { failures } = extension;
      report({ kind: 'extension-failed', failures, validMs: this.#lease.validUntil - now });
    }
    return extension;
  }

  /** Sends no further extension. The lease that is confirmed stays valid to its end. */
  stopExtending(): void {
    this.#extendingEnded.abort();
    this.#pausing.abort();
    this.#channel?.close();
  }

  /** Ends the extensions and the alarms: no work runs under the lease any more. */
  end(): void {
    this.stopExtending();
    this.#ended.abort();
  }

  /**
   * A holder that may be replaced subscribes to the wake-ups of waiters that want that. A wake-up
   * makes it extend at once, and the replies say which waiter it is.
   */
  async #keepExtending(): Promise<void> {
    const { redlock, clock } = this.#ports;
    const { extendEveryMs } = this.#timings;
    const { preemptible, resources, token } = this.#lease.claim;
    const extendingEnded = this.#extendingEnded.signal;
    const subscriptions =
      preemptible === 'replace' ? await redlock.subscribe(resources, holderIdOf(token)) : null;
    let notBefore = Number.NEGATIVE_INFINITY;
    let requestedNotBefore = Number.NEGATIVE_INFINITY;
    try {
      for (;;) {
        const nextAt = Math.max(this.#lease.startedAt + extendEveryMs, notBefore);
        const pauseMs = nextAt - clock.now();
        const over = this.#pausing.signal;
        if (!over.aborted)
          await (subscriptions ? subscriptions.pause(pauseMs, over) : clock.sleep(pauseMs, over));
        subscriptions?.forgetWakeUps();
        this.#channel?.renew();
        if (over.aborted) {
          await clock.sleep(Math.min(requestedNotBefore, nextAt) - clock.now(), extendingEnded);
          requestedNotBefore = clock.now() + minRequestedGapMs;
          this.#pausing = new AbortController();
        }
        if (extendingEnded.aborted || this.isStopDue) return;
        const extension = await this.extend();
        if (extendingEnded.aborted) return;
        if (extension.kind === 'lost') return this.#lose(extension.reason);
        if (extension.kind === 'unreachable') notBefore = clock.now() + this.#retryMs();
        else if (extension.replacedBy !== null) {
          this.#onEvent({ kind: 'replaced', by: extension.replacedBy });
          subscriptions?.close();
        }
      }
    } finally {
      subscriptions?.close();
    }
  }

  /** Begins to receive the requests of operators, if the work does not end in a moment. */
  async #listen(): Promise<void> {
    const { clock, listen } = this.#ports;
    const extendingEnded = this.#extendingEnded.signal;
    if (listen === null) return;
    await clock.sleep(listenAfterMs, extendingEnded);
    if (extendingEnded.aborted) return;
    this.#channel = listen(this.#lease.claim, ({ kind, by }) => {
      if (kind === 'stop') return this.#onEvent({ kind: 'stop-asked', by });
      this.#brokenBy = by;
      this.#pausing.abort();
    });
  }

  #lose(reason: LossReason): void {
    this.#onEvent({ kind: 'lost', reason, ...(this.#brokenBy && { by: this.#brokenBy }) });
  }

  /** The extension that began last may not be the last to end. */
  #confirm(lease: Lease): void {
    if (lease.validUntil <= this.#lease.validUntil) return;
    this.#lease = lease;
    this.#extensionCount += 1;
    this.#onEvent({ kind: 'confirmed', lease });
  }

  /** Short beside the time until stopping is due; random, so that many holders do not coincide. */
  #retryMs(): number {
    return this.#timings.masterTimeoutMs * (0.25 + 0.25 * this.#ports.random());
  }

  async #soundAlarms(): Promise<void> {
    const { reserveMs, marginMs } = this.#timings;
    if (!(await this.#reach(reserveMs))) return;
    this.#onEvent({ kind: 'lost', reason: this.overdueReason });
    if (await this.#reach(marginMs)) this.#onEvent({ kind: 'kill-due' });
  }

  /**
   * Resolves with true `reserveMs` before the end of the validity that is confirmed by then; with
   * false after `end`.
   */
  async #reach(reserveMs: number): Promise<boolean> {
    const { clock } = this.#ports;
    const ended = this.#ended.signal;
    for (;;) {
      const leftMs = deadlineOf(this.#lease, reserveMs) - clock.now();
      if (ended.aborted) return false;
      if (leftMs <= 0) return true;
      await clock.sleep(leftMs, ended);
    }
  }
}
