// Waits for a lock: attempts it until it is acquired, the time is up, or the caller aborts. The
// masters keep the queue of waiters: first come, first served. *Note:* "refused" and "no quorum"
// are never mixed: a wait for a busy lock may be unlimited, and a wait for a quorum ends after a
// while, because an outage that is reported as contention silently skips jobs.

import { parseFreeze } from './people.ts';
import type { Clock, Random, Report } from './ports.ts';
import { quorumOf } from './quorum.ts';
import type { Redlock } from './redlock.ts';
import type { Acquired, Claim, Contention, Failure, MasterFailure } from './types.ts';
import { type HolderRecord, isMode, modeOf, parseValue } from './value.ts';
import type { Subscriptions } from './wait-queue.ts';

export type Acquisition = Acquired | NotAcquired;

export type NotAcquired =
  /** `queuedCount`: this many waiters were in the queue, and no more were wanted. */
  | (Pick<Contention, 'holder' | 'holderCount' | 'freeInMs' | 'blockedName'> & {
      readonly kind: 'busy';
      readonly queuedCount?: number;
    })
  /** `gaveUpAfterMs`: that long no quorum answered, and the wait was not over; null: not that. */
  | (Extract<Failure, { kind: 'unreachable' }> & { readonly gaveUpAfterMs: number | null })
  | Extract<Failure, { kind: 'too-slow' | 'misconfigured' }>
  /** A newer waiter has come, and both are preemptible; `by` is its id. */
  | { readonly kind: 'superseded'; readonly by: string }
  /** Held by what this process is part of, and which would wait for itself. */
  | { readonly kind: 'nested'; readonly holder: string }
  /** With --reentrant: the enclosing run has ended, or is not above this process. */
  | { readonly kind: 'enclosing-lost' }
  | { readonly kind: 'aborted' };

/** A limited number of attempts, without the queue, as in other Redlock libraries. */
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
 * which redlockctl hold holds the lock. The holder waits for this process, so waiting is in vain.
 */
export type IsHeldAround = (shown: ShownHolder) => boolean;

export interface WaitRequest {
  readonly redlock: Redlock;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  /** A claim with a new value, for each attempt. `isWaiting`: it waits if it is refused. */
  readonly newClaim: (isWaiting: boolean) => Claim;
  /** The id of this waiter in the queue. */
  readonly waiterId: string;
  /** null: without limit. 0: one attempt, and a few more while the vote is split. */
  readonly waitMs: number | null;
  /** How long to go on without a quorum that answers. */
  readonly giveUpAfterMs: number;
  readonly aborted: AbortSignal;
  /** Limits the attempts by their number, and by nothing else. */
  readonly retries?: Retries | null;
  /** Ends the wait where this many waiters are queued already; null: waits behind any number. */
  readonly maxWaiters?: number | null;
  /** Absent: this process cannot be part of a holder. */
  readonly isHeldAround?: IsHeldAround;
  /** The line for the history when a waiter leaves without the lock; absent: none. */
  readonly lineOf?: (claim: Claim, acquisition: NotAcquired) => string | null;
}

/** A waiter's sign of life, three times as often as the masters need it (queue.lua). */
export const pollMs = { min: 900, max: 1_000 };
/**
 * After a split vote: longer than a round trip in one data centre. Doubled each time for a waiter
 * in the queue.
 */
const soonMs = { min: 5, max: 40 };
const outageMs = { min: 50, max: 150 };
/** How often a single attempt is repeated where the lock was free: one contender should win. */
const splitRetryCount = 8;
/** Added to the end of a foreign lease: masters expire keys a moment late rather than early. */
const expiryMs = 1;

/** How long an aborted wait goes on for the masters to confirm its rollback. */
const abortedMs = 250;

/** On return without the lock, neither a key nor a waiter is left on any master that answers. */
export async function waitForLock(request: WaitRequest): Promise<Acquisition> {
  const { redlock, clock } = request;
  const acquisition = await new Wait(request).run();
  if (acquisition.kind === 'acquired') return acquisition;
  // An aborted wait ends soon: everything has been sent, and only mute masters owe an answer.
  const longEnough = acquisition.kind === 'aborted' ? [clock.sleep(abortedMs)] : [];
  await Promise.race([redlock.settled(), ...longEnough]);
  if (acquisition.kind !== 'unreachable') return acquisition;
  // Masters that the verdict did not wait for have answered by now, such as that they refuse us.
  const failures = redlock.withKnownFailures(acquisition.failures);
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
  /** With `retries` all attempts; with a wait of 0 those that are repeated at once. */
  #attemptCount = 0;
  #hasTried = false;
  /** How many waiters were ahead of us when we entered the queue; null: we have not yet. */
  #queuedCount: number | null = null;
  /** How many attempts in a row saw no holder and no waiter ahead of us. */
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
    const { redlock, aborted } = this.#request;
    try {
      while (!aborted.aborted) {
        // A value that was rolled back is never used again: a rollback that is still under way on a
        // broken connection would remove it later.
        if (this.#hasTried) this.#claim = this.#nextClaim();
        this.#hasTried = true;
        this.#subscriptions?.forgetWakeUps();
        const attempt = await redlock.attempt(this.#claim, aborted);
        if (attempt.kind === 'acquired' && !aborted.aborted) return attempt;
        if (attempt.kind === 'acquired') {
          await redlock.release(attempt.lease.claim, 0, this.#lineOf({ kind: 'aborted' }));
          return { kind: 'aborted' };
        }
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

  /** A new claim of the same waiter, for the slot that may be free. */
  #nextClaim(): Claim {
    const { sharing, waiter } = this.#claim;
    return { ...this.#request.newClaim(this.#isWaiting), sharing, waiter };
  }

  /** Tries another slot at once where one is free. Bounded, since that may be out of date. */
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
   * Decided by the first refusal that is more than a split vote. Later ones decide only by the
   * token of the holder: of several names, another one may have become free.
   */
  #isNested(attempt: Extract<Failure, { kind: 'busy' }>): boolean {
    const { isHeldAround } = this.#request;
    if (!isHeldAround) return false;
    const { holder, holderCount, supersededBy } = attempt;
    const { sharing } = this.#claim;
    // A freeze is shown in the place of the holder, and hides it; '' is the waiters ahead of us.
    const isHidden = parseFreeze(holder) !== null || (holder === '' && sharing.kind !== 'shared');
    if (isHidden || supersededBy !== null) return false;
    this.#unknownCount += 1;
    if (!attempt.isHeld && this.#unknownCount <= splitRetryCount) return false;
    const isFirst = !this.#isHolderKnown;
    this.#isHolderKnown = true;
    // Another slot may become free.
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
    return { ...busyOf(attempt), queuedCount: attempt.position };
  }

  /** Reports the refusal, enters the queue if that is to be done, and pauses. */
  async #goOn(attempt: Failure): Promise<void> {
    const { clock, random, report, redlock, waitMs, aborted, retries } = this.#request;
    const waitedMs = clock.now() - this.#beganAt;
    this.#slotTryCount = 0;
    if (attempt.kind === 'busy') {
      const { kind: _, freeInMs: remainingMs, ...holder } = busyOf(attempt);
      report({ kind: 'waiting', ...holder, remainingMs, position: attempt.position, waitedMs });
      if (this.#isWaiting && !this.#subscriptions) return this.#join(attempt.arrivalUs);
    } else if (attempt.kind === 'unreachable') {
      report({
        kind: 'no-quorum',
        failures: redlock.withKnownFailures(attempt.failures),
        waitedMs,
      });
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
    const between = ({ min, max }: { min: number; max: number }) => min + random() * (max - min);
    if (attempt.kind !== 'busy') return between(outageMs);
    // No holder and no waiter is ahead of us: contenders have split the vote. Or the holders of
    // several slots have, each with a bare quorum: that lasts, and its end wakes a waiter.
    const isSplit = !attempt.isHeld && (attempt.position ?? 0) === 0;
    this.#splitCount = isSplit ? this.#splitCount + 1 : 0;
    if (isSplit)
      return this.#subscriptions
        ? Math.min(between(soonMs) * 2 ** (this.#splitCount - 1), pollMs.max)
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
    if (attempt.kind === 'busy' && attempt.supersededBy !== null)
      return { kind: 'superseded', by: attempt.supersededBy };
    if (attempt.kind === 'busy') return busyOf(attempt);
    if (attempt.kind !== 'unreachable') return attempt;
    const waitedMs = clock.now() - this.#beganAt;
    return { ...attempt, gaveUpAfterMs: retries ? null : gaveUpAfter(this.#request, waitedMs) };
  }

  /**
   * Leaves the queue if we are in it, so that those behind us move up, and adds a line to the
   * history.
   */
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

/** What is reported of a refusal: the votes have told more, which is for the wait only. */
function busyOf({ holder, holderCount, freeInMs, blockedName }: Contention) {
  const which = blockedName === undefined ? {} : { blockedName };
  return { kind: 'busy', holder, holderCount, freeInMs, ...which } as const;
}

/** Whether the list is wrong, or too many masters refuse access for a quorum ever to answer. */
function isMisconfigured(attempt: Failure, masterCount: number): boolean {
  if (attempt.kind === 'misconfigured') return true;
  const deniedCount = failuresOf(attempt).filter(({ failed }) => failed.cause === 'denied').length;
  return deniedCount > masterCount - quorumOf(masterCount);
}

/** A master that restarted too recently to vote has answered too: it is worth waiting for. */
function hasQuorumAnswered(attempt: Failure, masterCount: number): boolean {
  const silent = failuresOf(attempt).filter(({ failed }) => failed.cause !== 'restarted');
  return silent.length <= masterCount - quorumOf(masterCount);
}

/** Empty for an attempt that a quorum answered. */
function failuresOf(attempt: Failure): readonly MasterFailure[] {
  return 'failures' in attempt ? attempt.failures : [];
}
