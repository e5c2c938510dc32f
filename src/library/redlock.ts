// What a program imports: masters, and the locks that can be taken on them. The algorithm is that of the programs, in src/lock, with the
// same keys and the same queue, so a library user and a redlock-run exclude and follow one another. The surprise: there is no guard
// here. When this process is killed or its loop stands still, nobody stops what it has started; the lock just runs out.

import { setMaxListeners } from 'node:events';
import { acquire } from '../lock/acquire.ts';
import type { LockEvent } from '../lock/events.ts';
import { Redlock as CoreRedlock } from '../lock/redlock.ts';
import { dangerOf, type LockTimings, lockTimings } from '../lock/timings.ts';
import { type Retries, type WaitParts, waitForLock } from '../lock/wait.ts';
import { ServerRegistry } from '../redis/identity.ts';
import { RedisMaster } from '../redis/redis-master.ts';
import { createSystemClock } from '../system-clock.ts';
import { Claims } from './claim.ts';
import { abortedError, notAcquiredError, usageError } from './complaint.ts';
import { type Form, formOf } from './form.ts';
import { HeldLease } from './held-lease.ts';
import type { Lease } from './lease.ts';
import type { MasterSource } from './master-source.ts';
import { originsOf } from './masters.ts';
import { acquireRules, checkOptions, longestMs, redlockRules } from './option-rules.ts';
import type {
  AcquireOptions,
  LockOptions,
  RedlockOptions,
  Resources,
  RetryOptions,
} from './options.ts';

/** Work that is done under a lock. */
export type Routine<Result> = (signal: AbortSignal, lease: Lease) => Result | PromiseLike<Result>;

export class Redlock implements AsyncDisposable {
  readonly #options: RedlockOptions;
  readonly #clock = createSystemClock();
  readonly #claims: Claims;
  readonly #masters: readonly RedisMaster[];
  /** Who waits for a lock, or is just getting it. */
  readonly #waits = new Map<AbortController, Promise<unknown>>();
  readonly #leases = new Set<HeldLease>();
  #longestTtlMs = 0;
  /** The masters were given time to tell what they are. */
  #hasIdentified = false;
  #closing: Promise<void> | null = null;

  /**
   * Connects to nothing yet. A quorum is a majority of the masters given here, whether they answer or not.
   * @throws RedlockError `usage`
   */
  constructor(masters: readonly MasterSource[], options: RedlockOptions = {}) {
    checkOptions(options, redlockRules);
    const { prefix = 'redlock:', restartGraceMs, newToken } = options;
    const graceMs = () => restartGraceMs ?? (masters.length < 3 ? 0 : this.#longestTtlMs);
    const settings = {
      prefix,
      get restartGraceMs() {
        return graceMs();
      },
    };
    const registry = new ServerRegistry();
    this.#options = options;
    this.#claims = new Claims(newToken);
    this.#masters = originsOf(masters).map(
      (origin) => new RedisMaster(origin, settings, registry, this.#clock),
    );
  }

  /**
   * Waits in the queue until the lock is ours, on all resources or none; it runs out after `ttlMs` unless it is extended or `keepAlive`
   * is set. Whoever gets no lock gets a RedlockError, and nothing of it stays on any master that answers.
   */
  async acquire(resource: Resources, ttlMs: number, options: AcquireOptions = {}): Promise<Lease> {
    return this.#acquire(resource, ttlMs, options);
  }

  /**
   * Acquires the lock, does the work while it is kept alive, releases it. Resolves as the work does. When the lock was lost on the way,
   * the work is asked to stop by its signal, and when it has ended this rejects with a RedlockError `lost`, whatever the work came to.
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
   * Ends all waits, lets every signal fire, and resolves when each lock was released or has run out, with all connections ended. It
   * releases nothing itself: whoever works under a lock may not have stopped yet.
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
    for (const master of this.#masters) master.close();
  }

  async #acquire(resource: Resources, ttlMs: number, options: AcquireOptions): Promise<HeldLease> {
    checkOptions(options, acquireRules);
    const form = formOf(resource, options);
    if (this.#closing) throw abortedError(form.resources, 'this Redlock was closed');
    const { signal } = options;
    const wait = new AbortController();
    const abort = () => wait.abort();
    if (signal?.aborted) abort();
    // Any number of locks may be waited for under one signal, which is no leak.
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
    const { waitMs = null, giveUpAfterMs = 10_000, retries, fence = true, label = null } = options;
    const isKeptAlive = options.keepAlive ?? false;
    const timings = timingsOf(ttlMs, options, isKeptAlive);
    this.#longestTtlMs = Math.max(this.#longestTtlMs, ttlMs);
    const clock = this.#clock;
    const report = (event: LockEvent) => this.#tell(event, form.resources);
    const redlock = new CoreRedlock(this.#masters, clock, timings, report);
    const parts: WaitParts = {
      redlock,
      clock,
      random: Math.random,
      report,
      newClaim: () => this.#claims.next({ form, ttlMs, isFenced: fence, label }),
      waiterId: this.#claims.waiterId(form),
    };
    const patience = { giveUpAfterMs, retries: retries ? retriesOf(retries) : null, aborted };
    const { reserveMs } = timings;
    const isIdentifying = !this.#hasIdentified;
    const acquisition = await acquire(
      {
        clock,
        servers: this.#masters,
        wait: (leftMs) => waitForLock(parts, { ...patience, waitMs: leftMs }),
        release: (claim) => redlock.release(claim),
        ready: async () => null,
      },
      { waitMs, aborted, reserveMs, isIdentifying },
    );
    if (acquisition.kind === 'not-ready') throw new TypeError(acquisition.why);
    if (acquisition.kind !== 'acquired')
      throw notAcquiredError(form.resources, acquisition, given.signal?.reason);
    this.#hasIdentified = true;
    const onOver = () => void this.#leases.delete(lease);
    const lease = new HeldLease(acquisition.lease, {
      redlock,
      clock,
      timings,
      isKeptAlive,
      report,
      onOver,
    });
    this.#leases.add(lease);
    return lease;
  }

  /** What an onlooker throws is his own trouble, and not that of the lock. */
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

/** @throws RedlockError `usage` where the lock could not be held safely with these */
function timingsOf(ttlMs: number, options: LockOptions, isKeptAlive: boolean): LockTimings {
  if (!Number.isSafeInteger(ttlMs) || ttlMs < 1 || ttlMs > longestMs) {
    throw usageError(
      `ttl: ${ttlMs}: not a time to live (write whole milliseconds, from 1 to a day)`,
    );
  }
  const timings = lockTimings({
    ttlMs,
    masterTimeoutMs: options.masterTimeoutMs ?? null,
    reserveMs: options.reserveMs ?? Math.min(5000, Math.floor(ttlMs / 4)),
    driftFactor: options.driftFactor,
  });
  const danger = dangerOf(timings, isKeptAlive);
  if (danger === null) return timings;
  const { masterTimeoutMs, reserveMs } = timings;
  const which = `ttl ${ttlMs} ms, masterTimeoutMs ${masterTimeoutMs}, reserveMs ${reserveMs}`;
  throw usageError(`timings: ${which}: ${danger} (raise the ttl or lower the others)`);
}

function retriesOf({ count, delayMs = 200, jitterMs = 0 }: RetryOptions): Retries {
  if (typeof delayMs === 'number') return { count, delayMs, jitterMs };
  const delayMsAfter = (attemptCount: number) => {
    const pauseMs = delayMs(attemptCount);
    if (!(pauseMs >= 0))
      throw usageError(`retries.delayMs: returned ${pauseMs} (return milliseconds)`);
    return pauseMs;
  };
  return { count, delayMs: 0, delayMsAfter, jitterMs };
}

/** Without what was given as undefined: that means the same as not given. */
function withoutGaps<Options extends object>(options: Options): Partial<Options> {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as Partial<Options>;
}
