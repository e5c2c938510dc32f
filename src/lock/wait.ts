// Waits for a lock: attempts it until it is acquired, the time is up, or the caller aborts. The
// masters keep the queue of waiters: first come, first served. *Note:* "refused" and "no quorum"
// are never mixed. A wait for a busy lock may last for ever; a wait for a quorum ends after a
// while, because an outage reported as contention silently skips jobs.

import { type Failure, failuresOf, hasQuorumAnswered, isMisconfigured } from './failures.ts';
import { parseFreeze } from './freeze.ts';
import type { Clock, Random, Report } from './ports.ts';
import type { Redlock } from './redlock.ts';
import type { Attempt, Claim, Contention, Lease, MasterFailure } from './types.ts';
import { type HolderRecord, isMode, modeOf, parseValue } from './value.ts';
import type { Subscriptions } from './wait-queue.ts';

export type Acquisition =
  /** `elapsedMs`: the duration of the attempt that was granted, by so many masters. */
  | {
      readonly kind: 'acquired';
      readonly lease: Lease;
      readonly grantedCount: number;
      readonly elapsedMs: number;
    }
  /** As in Contention. */
  | {
      readonly kind: 'busy';
      readonly holder: string;
      readonly holderCount: number;
      readonly freeInMs: number | null;
      /** Of several names the one that is not free; absent: there is only one. */
      readonly blockedName?: string;
      /** So many waiters were in the queue already, and no more were wanted. Absent: not that. */
      readonly queuedCount?: number;
    }
  /** `gaveUpAfterMs`: so long no quorum answered, and the wait was not over; null: not that. */
  | {
      readonly kind: 'unreachable';
      readonly failures: readonly MasterFailure[];
      readonly gaveUpAfterMs: number | null;
    }
  | { readonly kind: 'too-slow'; readonly elapsedMs: number }
  /** The servers say that the list of masters or the credentials are wrong: waiting cannot help. */
  | { readonly kind: 'misconfigured'; readonly failures: readonly MasterFailure[] }
  /** A newer waiter has come, and both are preemptible; `by` is its id. */
  | { readonly kind: 'superseded'; readonly by: string }
  /** Held by what this process is part of, which would wait for itself. `holder`: its value. */
  | { readonly kind: 'nested'; readonly holder: string }
  /** With --reentrant: the enclosing run has ended, or is not above this process. */
  | { readonly kind: 'enclosing-lost' }
  | { readonly kind: 'aborted' };

export type NotAcquired = Exclude<Acquisition, { kind: 'acquired' }>;

/** A limited number of attempts, without the queue: what other Redlock libraries do. */
export interface Retries {
  /** After the first attempt. */
  readonly count: number;
  /** The pause between two attempts; it may depend on the number of attempts so far. */
  readonly delayMs: number | ((attemptCount: number) => number);
  /** A random part of this is added to each pause. */
  readonly jitterMs: number;
}

/** The holder that a refusal shows. */
export interface ShownHolder {
  /** null: it has none. */
  readonly token: string | null;
  /** null: it has none. */
  readonly record: Pick<HolderRecord, 'host' | 'pid' | 'forPid'> | null;
  /** There is no other holder. */
  readonly isAlone: boolean;
}

/**
 * Whether this process is part of the holder that a refusal shows: of its run, or of the script for
 * which redlockctl hold holds the lock. The holder waits for this process, so this process would
 * wait indefinitely.
 */
export type IsHeldAround = (shown: ShownHolder) => boolean;

/** What a wait asks for, and when it ends. */
export interface WaitRequest {
  readonly redlock: Redlock;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  /**
   * A claim with a value that was never used before; every attempt has its own. `isWaiting`: it
   * waits if it is refused.
   */
  readonly newClaim: (isWaiting: boolean) => Claim;
  /** The id of this waiter in the queue. */
  readonly waiterId: string;
  /** null: indefinitely. 0: one attempt, and a few more while the vote is split. */
  readonly waitMs: number | null;
  /** How long to go on without a quorum that answers. */
  readonly giveUpAfterMs: number;
  readonly aborted: AbortSignal;
  /** Bounds the attempts by their number, and by nothing else; null: they are not. */
  readonly retries?: Retries | null;
  /** Ends the wait where this many waiters are queued already; null: waits behind any number. */
  readonly maxWaiters?: number | null;
  /** Absent: this process cannot be part of a holder. */
  readonly isHeldAround?: IsHeldAround;
  /** The line for the history when a waiter leaves without the lock; absent: none. */
  readonly lineOf?: (claim: Claim, acquisition: NotAcquired) => string | null;
}

/** A waiter's sign of life, three times as often as the masters need it (silence.lua). */
export const pollMs = { least: 900, most: 1_000 };
/** After a split vote: longer than a round trip. Doubled each time for a waiter in the queue. */
const soonMs = { least: 5, most: 40 };
const outageMs = { least: 50, most: 150 };
/** How often a single attempt is repeated where the lock was free: one contender should win. */
const splitRetryCount = 8;
/** Added to the end of a foreign lease: masters expire keys a moment late rather than early. */
const expiryMs = 1;

/** How long an aborted wait goes on for the masters to confirm its rollback. */
const abortedMs = 250;

/**
 * Never leaves a key or a waiter in the queue behind: on return what was set is removed, as far as
 * masters answer.
 */
export async function waitForLock(request: WaitRequest): Promise<Acquisition> {
  const { redlock, clock } = request;
  const acquisition = await new Wait(request).run();
  if (acquisition.kind === 'acquired') return acquisition;
  // An aborted wait ends soon: everything has been sent, and only mute masters owe an answer.
  const longEnough = acquisition.kind === 'aborted' ? [clock.sleep(abortedMs)] : [];
  await Promise.race([redlock.settled(), ...longEnough]);
  if (acquisition.kind !== 'unreachable') return acquisition;
  // Masters that the verdict did not wait for have answered by now, such as that they refuse us.
  const failures = redlock.completed(acquisition.failures);
  const isRefused = isMisconfigured({ ...acquisition, failures }, redlock.masterCount);
  return isRefused ? { kind: 'misconfigured', failures } : { ...acquisition, failures };
}

class Wait {
  readonly #request: WaitRequest;
  /** Enters the queue if it is refused. */
  readonly #isWaiting: boolean;
  readonly #beganAt: number;
  #claim: Claim;
  #subscriptions: Subscriptions | null = null;
  #quorumSeenAt: number;
  /**
   * The attempts that are limited in number: with `retries` all of them; with a wait of 0 those
   * that split the vote or tried another slot.
   */
  #attemptCount = 0;
  #hasTried = false;
  /** How many waiters were before us when we entered the queue; null: we have not yet. */
  #queuedCount: number | null = null;
  /** How many attempts in a row saw no holder and no waiter before us. */
  #splitCount = 0;
  /** How often another slot was tried since the last pause. */
  #slotTryCount = 0;
  /** How often we were refused until it was known whether a run around us holds the lock. */
  #unknownCount = 0;
  #isHolderKnown = false;

  constructor(request: WaitRequest) {
    this.#request = request;
    this.#isWaiting = request.waitMs !== 0 && !request.retries;
    this.#beganAt = request.clock.now();
    this.#quorumSeenAt = this.#beganAt;
    this.#claim = request.newClaim(this.#isWaiting);
  }

  async run(): Promise<Acquisition> {
    const { redlock, clock, aborted } = this.#request;
    try {
      while (!aborted.aborted) {
        const attemptedAt = clock.now();
        // A value that was rolled back is never used again: a rollback that is still under way on a
        // broken connection would remove it later.
        if (this.#hasTried) this.#claim = this.#nextClaim();
        this.#hasTried = true;
        this.#subscriptions?.forgetWakeUps();
        const attempt = await redlock.attempt(this.#claim, aborted);
        if (attempt.kind === 'acquired') return await this.#acquired(attempt, attemptedAt);
        if (aborted.aborted) break;
        if (this.#takesFreeSlot(attempt)) continue;
        if (attempt.kind === 'busy' && this.#isNested(attempt))
          return this.#leave({ kind: 'nested', holder: attempt.holder });
        if (this.#isOver(attempt)) return this.#leave(this.#resultOf(attempt));
        const crowded = this.#crowded(attempt);
        if (crowded) return this.#leave(crowded);
        await this.#goOn(attempt);
      }
      return this.#leave({ kind: 'aborted' });
    } finally {
      this.#subscriptions?.close();
    }
  }

  /** Of the same waiter, for the slot that may be free. */
  #nextClaim(): Claim {
    const { sharing, waiter } = this.#claim;
    return { ...this.#request.newClaim(this.#isWaiting), sharing, waiter };
  }

  async #acquired(
    attempt: Extract<Attempt, { kind: 'acquired' }>,
    attemptedAt: number,
  ): Promise<Acquisition> {
    const { redlock, clock, aborted } = this.#request;
    if (aborted.aborted) {
      const acquisition = { kind: 'aborted' } as const;
      await redlock.release(attempt.lease.claim, 0, this.#lineOf(acquisition));
      return acquisition;
    }
    return { ...attempt, elapsedMs: clock.now() - attemptedAt };
  }

  /**
   * Asks for another slot at once where one is free. Bounded, since what the masters say may be out
   * of date.
   */
  #takesFreeSlot(attempt: Failure): boolean {
    const { sharing } = this.#claim;
    if (attempt.kind !== 'busy' || attempt.freeSlot === null || sharing.kind !== 'slots')
      return false;
    this.#claim = { ...this.#claim, sharing: { ...sharing, slot: attempt.freeSlot } };
    this.#slotTryCount += 1;
    if (!this.#isWaiting && !this.#request.retries) this.#attemptCount += 1;
    return this.#slotTryCount < sharing.slotCount;
  }

  /**
   * By the first refusal that is more than a split vote. Later ones decide only by the token of
   * the holder: of several names it may be shown when another one has become free.
   */
  #isNested(attempt: Extract<Failure, { kind: 'busy' }>): boolean {
    const { isHeldAround } = this.#request;
    if (!isHeldAround) return false;
    const { holder, holderCount, supersededBy } = attempt;
    const { sharing } = this.#claim;
    // A freeze is shown in the place of the holder, and hides it; '' is the waiters before us.
    const isHidden = parseFreeze(holder) !== null || (holder === '' && sharing.kind !== 'shared');
    if (isHidden || supersededBy !== null) return false;
    this.#unknownCount += 1;
    if (!attempt.isHeld && this.#unknownCount <= splitRetryCount) return false;
    const isFirst = !this.#isHolderKnown;
    this.#isHolderKnown = true;
    // Of slots another one may become free.
    const isForSlot = sharing.kind === 'slots' && holder === modeOf(sharing);
    const isAlone = holderCount === 1 && !isMode(holder);
    if (isForSlot || !(isFirst || isAlone)) return false;
    return isHeldAround({ ...parseValue(holder), isAlone });
  }

  #isOver(attempt: Failure): boolean {
    const { redlock, clock, waitMs, giveUpAfterMs, retries } = this.#request;
    const now = clock.now();
    if (isMisconfigured(attempt, redlock.masterCount)) return true;
    if (attempt.kind === 'busy' && attempt.supersededBy !== null) return true;
    if (retries) {
      this.#attemptCount += 1;
      return this.#attemptCount > retries.count;
    }
    if (hasQuorumAnswered(attempt, redlock.masterCount)) this.#quorumSeenAt = now;
    else if (now - this.#quorumSeenAt >= giveUpAfterMs) return true;
    if (waitMs === null) return false;
    if (waitMs > 0) return now - this.#beganAt >= waitMs;
    this.#attemptCount += 1;
    return attempt.kind !== 'busy' || attempt.isHeld || this.#attemptCount > splitRetryCount;
  }

  /** The end of a wait that finds too many in the queue on its arrival; null: it goes on. */
  #crowded(attempt: Failure): NotAcquired | null {
    const { maxWaiters } = this.#request;
    if (attempt.kind !== 'busy' || attempt.position === null || this.#queuedCount !== null)
      return null;
    this.#queuedCount = attempt.position;
    if (attempt.position < (maxWaiters ?? Number.POSITIVE_INFINITY)) return null;
    return { kind: 'busy', ...this.#blockerIn(attempt), queuedCount: attempt.position };
  }

  /** Reports the refusal, enters the queue if that is to be done, and pauses. */
  async #goOn(attempt: Failure): Promise<void> {
    const { clock, random, report, redlock, waitMs, aborted, retries } = this.#request;
    const waitedMs = clock.now() - this.#beganAt;
    this.#slotTryCount = 0;
    if (attempt.kind === 'busy') {
      const { freeInMs: remainingMs, ...blocker } = this.#blockerIn(attempt);
      report({ kind: 'waiting', ...blocker, remainingMs, position: attempt.position, waitedMs });
      if (this.#isWaiting && !this.#subscriptions) return this.#join(attempt.arrivalUs);
    } else if (attempt.kind === 'unreachable') {
      report({ kind: 'no-quorum', failures: redlock.completed(attempt.failures), waitedMs });
    }
    if (retries) {
      const { delayMs, jitterMs } = retries;
      const pauseMs = typeof delayMs === 'number' ? delayMs : delayMs(this.#attemptCount);
      return clock.sleep(pauseMs + random() * jitterMs, aborted);
    }
    const leftMs = waitMs ? waitMs - waitedMs : Number.POSITIVE_INFINITY;
    const pauseMs = Math.min(this.#pauseMs(attempt), leftMs);
    if (this.#subscriptions) await this.#subscriptions.pause(pauseMs, aborted);
    else await clock.sleep(pauseMs, aborted);
  }

  async #join(arrivalUs: number): Promise<void> {
    const { redlock, waiterId } = this.#request;
    this.#claim = { ...this.#claim, waiter: { id: waiterId, arrivalUs } };
    this.#subscriptions = await redlock.subscribe(this.#claim.resources, waiterId);
  }

  #pauseMs(attempt: Failure): number {
    const { random } = this.#request;
    const between = ({ least, most }: { least: number; most: number }) =>
      least + random() * (most - least);
    if (attempt.kind !== 'busy') return between(outageMs);
    // There is no holder and no waiter before us: contenders have split the vote. Or the holders of
    // several slots have, each with a bare quorum: that lasts, and a waiter is woken when it is
    // over.
    const isSplit = !attempt.isHeld && (attempt.position ?? 0) === 0;
    this.#splitCount = isSplit ? this.#splitCount + 1 : 0;
    if (isSplit)
      return this.#subscriptions
        ? Math.min(between(soonMs) * 2 ** (this.#splitCount - 1), pollMs.most)
        : between(soonMs);
    const isNext = attempt.position === 0 && attempt.freeInMs !== null;
    return Math.min(
      between(pollMs),
      isNext ? attempt.freeInMs + expiryMs : Number.POSITIVE_INFINITY,
    );
  }

  #resultOf(attempt: Failure): NotAcquired {
    const { redlock, clock, retries } = this.#request;
    if (isMisconfigured(attempt, redlock.masterCount))
      return { kind: 'misconfigured', failures: failuresOf(attempt) };
    switch (attempt.kind) {
      case 'busy': {
        if (attempt.supersededBy !== null) return { kind: 'superseded', by: attempt.supersededBy };
        return { kind: 'busy', ...this.#blockerIn(attempt) };
      }
      case 'too-slow':
        return attempt;
      default: {
        const waitedMs = clock.now() - this.#beganAt;
        const gaveUpAfterMs = retries ? null : gaveUpAfter(this.#request, waitedMs);
        return { kind: 'unreachable', failures: attempt.failures, gaveUpAfterMs };
      }
    }
  }

  /** What is told of the lock that is not free. */
  #blockerIn({ holder, holderCount, freeInMs, blockedIndex }: Contention) {
    const blockedName = this.#claim.resources[blockedIndex ?? Number.NaN];
    const blocker = { holder, holderCount, freeInMs };
    return blockedName === undefined ? blocker : { ...blocker, blockedName };
  }

  /** Leaves the queue for those behind us, if we are in it, and a line in the history. */
  #leave(acquisition: NotAcquired): NotAcquired {
    const isRefused = this.#isWaiting && acquisition.kind === 'busy';
    if (this.#subscriptions || isRefused)
      void this.#request.redlock.release(this.#claim, 0, this.#lineOf(acquisition));
    return acquisition;
  }

  #lineOf(acquisition: NotAcquired): string | null {
    return this.#request.lineOf?.(this.#claim, acquisition) ?? null;
  }
}

/** How long a wait without a quorum went on until giveUpAfter ended it; null: its own end did. */
export function gaveUpAfter(
  { waitMs, giveUpAfterMs }: Pick<WaitRequest, 'waitMs' | 'giveUpAfterMs'>,
  waitedMs: number,
): number | null {
  const isOver = waitMs !== null && waitedMs >= waitMs;
  return isOver || waitedMs < giveUpAfterMs ? null : giveUpAfterMs;
}
