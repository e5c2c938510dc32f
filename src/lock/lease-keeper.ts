// Keeps one lease: extends it again and again, and reports when the work under it must be stopped,
// and then killed, because no extension has succeeded in time. It stops, kills and releases nothing
// itself. Both deadlines depend on the local clock alone, so a missing answer cannot delay them.
// *Invariant:* nothing is extended once stopping is due. After a suspension (a stopped process, a
// sleeping machine) the clock is read first: if stopping is due, the work is stopped, not extended.

import type { HolderChannel, Listen } from './holder-channel.ts';
import type { Person } from './people.ts';
import type { Clock, Random, Report } from './ports.ts';
import type { HeldLock } from './redlock.ts';
import type { Claim, Extension, Lease, LossReason } from './types.ts';
import { holderIdOf } from './waiter-id.ts';

export interface LeaseKeeperSettings {
  /** From the start of the last confirmed round to the next extension; null: never extended. */
  readonly extendEveryMs: number | null;
  readonly masterTimeoutMs: number;
  /** How long before the end of validity stopping has to begin. */
  readonly reserveMs: number;
  /**
   * How long before the end of validity SIGKILL has to be sent; null: there is nothing to kill.
   */
  readonly killReserveMs: number | null;
}

/**
 * taken, expired: a quorum says so. unreachable: no quorum has confirmed the lease in time.
 * suspended: this process did not run when the alarm was due (SIGSTOP, a sleeping machine).
 */
export type KeeperLossReason = LossReason | 'unreachable' | 'suspended';

export interface LeaseKeeperParts {
  readonly redlock: HeldLock;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  /** An extension has confirmed the lease. */
  readonly onConfirmed: (lease: Lease) => void;
  /** `brokenBy`: who has said that it broke the lock; null: no person has. */
  readonly onLost: (reason: KeeperLossReason, brokenBy: Person | null) => void;
  /** A quorum names this waiter, by which the holder is to be replaced. The lease goes on. */
  readonly onReplaced: (by: string) => void;
  /** Subscribes to what people ask; null: they are not listened to. */
  readonly listen: Listen | null;
  /** A person asks the holder to stop. The lease goes on. */
  readonly onStopAsked: (by: Person) => void;
  /** SIGKILL is due. */
  readonly onKillDue: () => void;
  /** An error that is a bug of redlock-run. */
  readonly onBug: (bug: unknown) => void;
}

/**
 * What is noticed later than this was not delayed by a busy machine: this process was suspended.
 */
const suspendedMs = 500;

/**
 * When listening begins: work that has ended by then costs the masters no second connection, and no
 * person is so quick as to stop it. It is late enough for a command to have been started.
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

export class LeaseKeeper {
  readonly #settings: LeaseKeeperSettings;
  readonly #parts: LeaseKeeperParts;
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

  constructor(lease: Lease, settings: LeaseKeeperSettings, parts: LeaseKeeperParts) {
    this.#lease = lease;
    this.#setAt = lease.startedAt;
    this.#settings = settings;
    this.#parts = parts;
  }

  /** Begins to extend the lease and to watch the deadlines. */
  begin(): void {
    const { onBug } = this.#parts;
    this.#soundAlarms().catch(onBug);
    this.#keepExtending().catch(onBug);
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
    return standsForMs(this.#setAt, this.#lease.claim, keepMs, this.#parts.clock.now());
  }

  get extensionCount(): number {
    return this.#extensionCount;
  }

  /** Whether stopping must have begun. */
  get isStopDue(): boolean {
    return this.#parts.clock.now() >= deadlineOf(this.#lease, this.#settings.reserveMs);
  }

  /** Why the lease is lost where stopping is due: how late this process notices it tells that. */
  get overdueReason(): 'suspended' | 'unreachable' {
    const lateMs = this.#parts.clock.now() - deadlineOf(this.#lease, this.#settings.reserveMs);
    return lateMs > suspendedMs ? 'suspended' : 'unreachable';
  }

  /** Extends the lease once, now. An answer after the end of extending changes nothing. */
  async extend(): Promise<Extension> {
    const { redlock, clock, report } = this.#parts;
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
    const { redlock, clock, onReplaced, onLost } = this.#parts;
    const { extendEveryMs, reserveMs } = this.#settings;
    if (extendEveryMs === null) return;
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
        if (extendingEnded.aborted || clock.now() >= deadlineOf(this.#lease, reserveMs)) return;
        const extension = await this.extend();
        if (extendingEnded.aborted) return;
        if (extension.kind === 'lost') return onLost(extension.reason, this.#brokenBy);
        if (extension.kind === 'unreachable') notBefore = clock.now() + this.#retryMs();
        else if (extension.replacedBy !== null) {
          onReplaced(extension.replacedBy);
          subscriptions?.close();
        }
      }
    } finally {
      subscriptions?.close();
    }
  }

  /** Begins to listen for what people ask, if the work does not end in a moment. */
  async #listen(): Promise<void> {
    const { clock, listen } = this.#parts;
    const extendingEnded = this.#extendingEnded.signal;
    if (listen === null) return;
    await clock.sleep(listenAfterMs, extendingEnded);
    if (extendingEnded.aborted) return;
    this.#channel = listen(this.#lease.claim, ({ kind, by }) => {
      if (kind === 'stop') return this.#parts.onStopAsked(by);
      this.#brokenBy = by;
      this.#pausing.abort();
    });
  }

  /** The extension that began last may not be the last to end. */
  #confirm(lease: Lease): void {
    if (lease.validUntil <= this.#lease.validUntil) return;
    this.#lease = lease;
    this.#extensionCount += 1;
    this.#parts.onConfirmed(lease);
  }

  /**
   * Short compared with the time until stopping is due. Random, so that many holders do not ask
   * together.
   */
  #retryMs(): number {
    return this.#settings.masterTimeoutMs * (0.25 + 0.25 * this.#parts.random());
  }

  async #soundAlarms(): Promise<void> {
    const { reserveMs, killReserveMs } = this.#settings;
    const { onLost, onKillDue } = this.#parts;
    if (!(await this.#reach(reserveMs))) return;
    onLost(this.overdueReason, null);
    if (killReserveMs !== null && (await this.#reach(killReserveMs))) onKillDue();
  }

  /**
   * Resolves with true `reserveMs` before the end of the validity that is confirmed by then; with
   * false after `end`.
   */
  async #reach(reserveMs: number): Promise<boolean> {
    const { clock } = this.#parts;
    const ended = this.#ended.signal;
    for (;;) {
      const leftMs = deadlineOf(this.#lease, reserveMs) - clock.now();
      if (ended.aborted) return false;
      if (leftMs <= 0) return true;
      await clock.sleep(leftMs, ended);
    }
  }
}
