// The class that a program imports: masters, and the locks on them. The algorithm is that of
// redlock-run, in src/lock, with the same keys and the same wait queue, so both exclude each other.
// *Note:* there is no guard here. When this process is killed or its event loop is blocked, nothing
// stops the work that it has started; the lock expires.

import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import os from 'node:os';
import { acquireLock } from '../lock/acquire.ts';
import type { LockEvent } from '../lock/ports.ts';
import { defaultDriftFactor } from '../lock/quorum.ts';
import { Redlock as CoreRedlock } from '../lock/redlock.ts';
import { type LockTimings, lockTimings } from '../lock/timings.ts';
import { newClaim, slotOf } from '../lock/value.ts';
import type { Retries } from '../lock/wait.ts';
import { waiterIdOf, whoOf } from '../lock/waiter-id.ts';
import { defaultHistoryBytes } from '../redis/calls/script-calls.ts';
import { MastersWatch } from '../redis/masters-watch.ts';
import { defaultRestartGraceMs } from '../redis/restart.ts';
import { type Server, serversAt } from '../redis/server.ts';
import { createPlainClock } from '../system/clock.ts';
import { maxTtlMs, timingMistake } from '../text/option-rules.ts';
import {
  acquireRules,
  checkOptions,
  type Form,
  formOf,
  ourselves,
  redlockRules,
  tokensFrom,
} from './claim.ts';
import { abortedError, notAcquiredError, usageError } from './error.ts';
import { HeldLease } from './held-lease.ts';
import type { Lease } from './lease.ts';
import { originsOf } from './masters.ts';
import {
  type AcquireOptions,
  defaultOptions,
  defaultRetries,
  type LockOptions,
  type MasterSource,
  type RedlockOptions,
  type Resources,
  type RetryOptions,
} from './options.ts';

/** The work to do under a lock. */
export type Routine<Result> = (signal: AbortSignal, lease: Lease) => Result | PromiseLike<Result>;

export class Redlock implements AsyncDisposable {
  readonly #options: ReturnType<typeof withDefaults>;
  readonly #clock = createPlainClock();
  readonly #newToken: () => string;
  readonly #masters: readonly Server[];
  readonly #watch: MastersWatch;
  /** The calls that wait for a lock. */
  readonly #waits = new Map<AbortController, Promise<unknown>>();
  readonly #leases = new Set<HeldLease>();
  #maxTtlMs = 0;
  /** The servers behind the masters have been given time to identify themselves. */
  #areServersKnown = false;
  #closing: Promise<void> | null = null;

  /**
   * Does not connect. A quorum is a majority of the masters given here, whether they answer or not.
   * @throws RedlockError `usage`
   */
  constructor(masters: readonly MasterSource[], options: RedlockOptions = {}) {
    checkOptions(options, redlockRules);
    this.#options = withDefaults(options);
    const { prefix, differingMasters, restartGraceMs, newToken } = this.#options;
    const origins = originsOf(masters);
    const restartGrace = () => restartGraceMs ?? defaultRestartGraceMs(origins, this.#maxTtlMs);
    const settings = {
      prefix,
      historyBytes: defaultHistoryBytes,
      protocol: 'redlock' as const,
      get restartGraceMs() {
        return restartGrace();
      },
    };
    this.#newToken = tokensFrom(newToken);
    this.#masters = serversAt(origins, settings, this.#clock, 'lock');
    const host = os.hostname();
    this.#watch = new MastersWatch(this.#masters, this.#clock, host, differingMasters, true);
  }

  /**
   * Waits in the queue until the lock is acquired, on all resources or none. It expires after
   * `ttlMs` unless it is extended or `keepAlive` is set. Rejects with a RedlockError when the lock
   * cannot be acquired; then no key is left on any master that answers.
   */
  async acquire(resource: Resources, ttlMs: number, options: AcquireOptions = {}): Promise<Lease> {
    return this.#acquire(resource, ttlMs, options);
  }

  /**
   * Acquires the lock, calls `routine` while the lock is extended, releases it, and resolves with
   * the result. When the lock is lost, the signal asks the work to stop. When the work has ended,
   * the call rejects with a RedlockError `lost`, whatever the result was.
   */
  using<Result>(resource: Resources, ttlMs: number, routine: Routine<Result>): Promise<Result>;
  using<Result>(
    resource: Resources,
    ttlMs: number,
    options: Omit<AcquireOptions, 'keepAlive'>,
    routine: Routine<Result>,
  ): Promise<Result>;
  async using<Result>(
    resource: Resources,
    ttlMs: number,
    ...rest: [Routine<Result>] | [AcquireOptions, Routine<Result>]
  ): Promise<Result> {
    const [options, routine] = rest.length === 1 ? [{}, ...rest] : rest;
    if (typeof routine !== 'function') throw usageError('using: no function to run (give it last)');
    const lease = await this.#acquire(resource, ttlMs, { ...options, keepAlive: true });
    try {
      const result = await routine(lease.signal, lease);
      if (lease.loss) throw lease.loss;
      await lease.release();
      if (lease.lateLoss) throw lease.lateLoss;
      return result;
    } catch (error) {
      if (lease.loss && error !== lease.loss) lease.loss.cause = error;
      throw lease.loss ?? error;
    } finally {
      await lease.release();
    }
  }

  /**
   * Ends all waits and fires every signal. Resolves when each lock was released or has expired and
   * all connections are closed. It releases no lock itself, because the work under it may still go
   * on.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    for (const wait of this.#waits.keys()) wait.abort();
    await Promise.allSettled(this.#waits.values());
    for (const lease of this.#leases) lease.lose('closed');
    await Promise.all([...this.#leases].map((lease) => lease.over()));
    await Promise.all(this.#masters.map((master) => master.close()));
  }

  async #acquire(resource: Resources, ttlMs: number, options: AcquireOptions): Promise<HeldLease> {
    checkOptions(options, acquireRules);
    const form = formOf(resource, options);
    if (this.#closing) throw abortedError(form.resources, 'this Redlock was closed');
    const { signal } = options;
    const wait = new AbortController();
    const abort = () => wait.abort();
    if (signal?.aborted) abort();
    // Any number of calls may wait under one signal. Node would warn of a leak at the eleventh.
    else if (signal) setMaxListeners(0, signal);
    signal?.addEventListener('abort', abort, { once: true });
    const acquiring = this.#wait(form, ttlMs, options, wait.signal);
    this.#waits.set(wait, acquiring);
    try {
      return await acquiring;
    } finally {
      this.#waits.delete(wait);
      signal?.removeEventListener('abort', abort);
    }
  }

  async #wait(
    form: Form,
    ttlMs: number,
    given: AcquireOptions,
    aborted: AbortSignal,
  ): Promise<HeldLease> {
    const options = { ...this.#options, ...withoutGaps(given) };
    const { waitMs, giveUpAfterMs, retries, fence, label, keepAlive } = options;
    const timings = timingsOf(ttlMs, options, keepAlive);
    this.#maxTtlMs = Math.max(this.#maxTtlMs, ttlMs);
    const clock = this.#clock;
    const tell = (event: LockEvent) => this.#tell(event, form.resources);
    const report = (event: LockEvent) => {
      tell(event);
      this.#watch.see(event, tell);
    };
    const redlock = new CoreRedlock(this.#masters, clock, timings, report);
    const ports = { redlock, clock, random: Math.random, report, listen: null };
    const self = ourselves(label);
    const acquisition = await acquireLock({
      ...ports,
      newClaim: () => {
        const record = { ...self, since: new Date().toISOString() };
        return newClaim({ ...form, ttlMs, isFenced: fence }, this.#newToken(), record);
      },
      waiterId: waiterIdOf(form, randomBytes(12).toString('hex'), whoOf(self)),
      waitMs,
      giveUpAfterMs,
      retries: retries ? retriesOf(retries) : null,
      aborted,
      servers: this.#watch.servers,
      areServersKnown: this.#areServersKnown,
      reserveMs: timings.reserveMs,
    });
    if (acquisition.kind !== 'acquired')
      throw notAcquiredError(form.resources, acquisition, !!retries, given.signal?.reason);
    this.#areServersKnown = true;
    const { lease } = acquisition;
    const slot = slotOf(lease.claim, options.slots);
    const onOver = () => void this.#leases.delete(held);
    const held = new HeldLease(lease, slot, timings, keepAlive, ports, onOver);
    this.#leases.add(held);
    return held;
  }

  /**
   * An error of `onEvent` is thrown outside of the lock, as an uncaught exception of the program.
   */
  #tell(event: LockEvent, resources: readonly string[]): void {
    try {
      this.#options.onEvent?.(event, resources[0] ?? '', resources);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

/** @throws RedlockError `usage` for timings with which a lock cannot be held safely */
function timingsOf(
  ttlMs: number,
  options: Pick<LockOptions, keyof LockTimings & keyof LockOptions>,
  isKeptAlive: boolean,
): LockTimings {
  if (!Number.isSafeInteger(ttlMs) || ttlMs < 1 || ttlMs > maxTtlMs) {
    throw usageError(
      `ttl: ${ttlMs}: not a time to live (write whole milliseconds, from 1 to a day)`,
    );
  }
  const timings = lockTimings(
    ttlMs,
    options.masterTimeoutMs ?? null,
    options.reserveMs ?? Math.min(5000, Math.floor(ttlMs / 4)),
    options.driftFactor ?? defaultDriftFactor,
  );
  const { masterTimeoutMs, reserveMs } = timings;
  const shown = {
    ttl: `${ttlMs} ms`,
    masterTimeoutMs: `${masterTimeoutMs}`,
    reserveMs: `${reserveMs}`,
  };
  const mistake = timingMistake(timings, isKeptAlive, shown);
  if (mistake !== null) throw usageError(`timings: ${mistake}`);
  return timings;
}

function retriesOf(retries: RetryOptions): Retries {
  const { count, delayMs = defaultRetries.delayMs, jitterMs = defaultRetries.jitterMs } = retries;
  if (typeof delayMs === 'number') return { count, delayMs, jitterMs };
  const checkedDelayMs = (attemptCount: number) => {
    const pauseMs = delayMs(attemptCount);
    if (!(pauseMs >= 0))
      throw usageError(`retries.delayMs: returned ${pauseMs} (return milliseconds)`);
    return pauseMs;
  };
  return { count, delayMs: checkedDelayMs, jitterMs };
}

function withDefaults(options: RedlockOptions) {
  return { ...defaultOptions, ...withoutGaps(options) };
}

/** The options that are given: undefined counts as not given. */
function withoutGaps<Options extends object>(options: Options): Given<Options> {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as Given<Options>;
}

type Given<Options> = { [Name in keyof Options]?: Exclude<Options[Name], undefined> };
