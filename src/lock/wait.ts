// Attempts until the lock is ours, the time is up, or the caller has had enough. Waiting is done in
// the queue that the masters keep: first come, first served. Being refused and being unable to ask
// are told apart all the way: busy may be waited out for ever; no quorum is given up after a while,
// because an outage reported as contention silently skips jobs.

import type { Report } from './events.ts';
import type { Clock, Random } from './ports.ts';
import { quorumOf } from './quorum.ts';
import type { Redlock } from './redlock.ts';
import type { Attempt, Claim, Lease, MasterFailure } from './types.ts';
import type { Subscriptions } from './wait-queue.ts';

export type Acquisition =
  /** `elapsedMs`: how long the attempt took that was granted. */
  | { readonly kind: 'acquired'; readonly lease: Lease; readonly elapsedMs: number }
  /** As in Contention. */
  | {
      readonly kind: 'busy';
      readonly holder: string;
      readonly holderCount: number;
      readonly freeInMs: number | null;
    }
  | { readonly kind: 'unreachable'; readonly failures: readonly MasterFailure[] }
  | { readonly kind: 'too-slow'; readonly elapsedMs: number }
  /** The servers themselves say that the list of masters or the credentials are wrong: waiting mends nothing. */
  | { readonly kind: 'misconfigured'; readonly failures: readonly MasterFailure[] }
  /** A newer waiter has come, and both yield; `by` is his id. */
  | { readonly kind: 'superseded'; readonly by: string }
  /** Held by a run that we are part of, so waiting would be for ourselves. Only the caller can know that. */
  | { readonly kind: 'nested' }
  /** The run that we are part of does not hold it any more. */
  | { readonly kind: 'enclosing-lost' }
  | { readonly kind: 'aborted' };

export type NotAcquired = Exclude<Acquisition, { kind: 'acquired' }>;

/** As many attempts as this, with pauses between them and no place in the queue: what other Redlock libraries do. */
export interface Retries {
  /** After the first attempt. */
  readonly count: number;
  readonly delayMs: number;
  /** Instead of that, when each pause depends on how many attempts there were. */
  readonly delayMsAfter?: (attemptCount: number) => number;
  /** A random part of this is added to each pause. */
  readonly jitterMs: number;
}

export interface WaitLimits {
  /** How long to wait for the lock; null: for ever; 0: one attempt (and a few more while a vote is split). */
  readonly waitMs: number | null;
  /** How long to go on without a quorum that answers. */
  readonly giveUpAfterMs: number;
  /** Bounds the attempts by their number, and by nothing else. */
  readonly retries?: Retries | null;
  readonly aborted: AbortSignal;
}

export interface WaitParts {
  readonly redlock: Redlock;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  /** A claim of a value that was never used before; every attempt has one of its own. */
  readonly newClaim: () => Claim;
  /** Names us in the queue. */
  readonly waiterId: string;
  /** The line for the history when whoever has waited goes without the lock; absent: none. */
  readonly recordOf?: (claim: Claim, acquisition: NotAcquired) => string | null;
}

/** A waiter's sign of life; three times as often as the masters need it. */
const pollMs = { least: 900, most: 1_000 };
/** After a split vote or an outage: long against a round trip, short for a person. Twice as long each time, for whoever is in line. */
const soonMs = { least: 5, most: 40 };
const outageMs = { least: 50, most: 150 };
/** A single attempt is repeated so often where nobody held the lock: somebody should win. */
const splitRetryCount = 8;
/** Past the end of a foreign lease: masters expire keys a moment late rather than early. */
const expiryMs = 1;

/** How long somebody who was told to stop waits for masters to confirm that he has gone. */
const abortedMs = 250;

/**
 * Never leaves a key or a place in the queue behind: what was set has been undone, as far as
 * masters answer, on return.
 */
export async function waitForLock(parts: WaitParts, limits: WaitLimits): Promise<Acquisition> {
  const wait = new Wait(parts, limits);
  const acquisition = await wait.end();
  if (acquisition.kind === 'acquired') return acquisition;
  // Who was told to stop goes at once: everything has been sent, and only the answers of mute masters are missing.
  const longEnough = acquisition.kind === 'aborted' ? [parts.clock.sleep(abortedMs)] : [];
  await Promise.race([parts.redlock.settled(), ...longEnough]);
  return acquisition;
}

class Wait {
  readonly #parts: WaitParts;
  readonly #limits: WaitLimits;
  readonly #beganAt: number;
  #claim: Claim;
  #subscriptions: Subscriptions | null = null;
  #quorumSeenAt: number;
  /** Of those that count: all with a bounded number of retries, and without a wait those that split the vote, or tried another slot. */
  #attemptCount = 0;
  #hasTried = false;
  /** How many attempts in a row nobody was seen to hold it, and we had nobody before us. */
  #splitCount = 0;
  /** How often another slot was tried since the last pause. */
  #slotCount = 0;

  constructor(parts: WaitParts, limits: WaitLimits) {
    this.#parts = parts;
    this.#limits = limits;
    this.#beganAt = parts.clock.now();
    this.#quorumSeenAt = this.#beganAt;
    this.#claim = parts.newClaim();
  }

  async end(): Promise<Acquisition> {
    const { redlock, clock, newClaim } = this.#parts;
    const { aborted } = this.#limits;
    try {
      while (!aborted.aborted) {
        const attemptedAt = clock.now();
        // Never a value again that was given back: what is still under way on a broken connection would remove it later.
        if (this.#hasTried)
          this.#claim = { ...newClaim(), sharing: this.#claim.sharing, waiter: this.#claim.waiter };
        this.#hasTried = true;
        this.#subscriptions?.forgetWakeUps();
        const attempt = await redlock.attempt(this.#claim, aborted);
        if (attempt.kind === 'acquired') return await this.#acquired(attempt, attemptedAt);
        if (aborted.aborted) break;
        if (this.#takesFreeSlot(attempt)) continue;
        if (this.#isOver(attempt)) return this.#leave(endingOf(attempt, redlock.masterCount));
        await this.#goOn(attempt);
      }
      return this.#leave({ kind: 'aborted' });
    } finally {
      this.#subscriptions?.close();
    }
  }

  async #acquired(
    attempt: Extract<Attempt, { kind: 'acquired' }>,
    attemptedAt: number,
  ): Promise<Acquisition> {
    const { redlock, clock, report } = this.#parts;
    if (this.#limits.aborted.aborted) {
      const aborted = { kind: 'aborted' } as const;
      await redlock.release(attempt.lease.claim, 0, this.#recordOf(aborted));
      return aborted;
    }
    const now = clock.now();
    const { grantedCount } = attempt;
    const elapsedMs = now - attemptedAt;
    report({ kind: 'acquired', grantedCount, elapsedMs, waitMs: now - this.#beganAt });
    return { kind: 'acquired', lease: attempt.lease, elapsedMs };
  }

  /** Another slot is there for the taking: it is asked for at once. Bounded, since what others say may be out of date. */
  #takesFreeSlot(attempt: Failure): boolean {
    const { sharing } = this.#claim;
    if (attempt.kind !== 'busy' || attempt.freeSlot === null || sharing.kind !== 'slots')
      return false;
    this.#claim = { ...this.#claim, sharing: { ...sharing, slot: attempt.freeSlot } };
    this.#slotCount += 1;
    if (this.#limits.waitMs === 0 && !this.#limits.retries) this.#attemptCount += 1;
    return this.#slotCount < sharing.slotCount;
  }

  #isOver(attempt: Failure): boolean {
    const { redlock, clock } = this.#parts;
    const { waitMs, giveUpAfterMs, retries } = this.#limits;
    const now = clock.now();
    if (isMisconfigured(attempt, redlock.masterCount)) return true;
    if (attempt.kind === 'busy' && attempt.supersededBy !== null) return true;
    if (retries) {
      this.#attemptCount += 1;
      return this.#attemptCount > retries.count;
    }
    if (hasQuorumAnswered(attempt, redlock.masterCount)) this.#quorumSeenAt = now;
    if (now - this.#quorumSeenAt >= giveUpAfterMs) return true;
    if (waitMs === null) return false;
    if (waitMs > 0) return now - this.#beganAt >= waitMs;
    this.#attemptCount += 1;
    return attempt.kind !== 'busy' || attempt.isHeld || this.#attemptCount > splitRetryCount;
  }

  /** Tells the onlooker, takes a place in the queue if there is one to take, and pauses. */
  async #goOn(attempt: Failure): Promise<void> {
    const { clock, report } = this.#parts;
    const { waitMs, aborted, retries } = this.#limits;
    const waitedMs = clock.now() - this.#beganAt;
    this.#slotCount = 0;
    if (attempt.kind === 'busy') {
      const { holder, holderCount, freeInMs: remainingMs, place } = attempt;
      report({ kind: 'waiting', holder, holderCount, remainingMs, place, waitedMs });
      if (waitMs !== 0 && !retries && !this.#subscriptions) return this.#join(attempt.arrivalUs);
    } else if (attempt.kind === 'unreachable') {
      report({ kind: 'no-quorum', failures: attempt.failures, waitedMs });
    }
    if (retries) {
      const { delayMs, delayMsAfter, jitterMs } = retries;
      const pauseMs = delayMsAfter ? delayMsAfter(this.#attemptCount) : delayMs;
      return clock.sleep(pauseMs + this.#parts.random() * jitterMs, aborted);
    }
    const leftMs = waitMs ? waitMs - waitedMs : Number.POSITIVE_INFINITY;
    const pauseMs = Math.min(this.#pauseMs(attempt), leftMs);
    if (this.#subscriptions) await this.#subscriptions.pause(pauseMs, aborted);
    else await clock.sleep(pauseMs, aborted);
  }

  async #join(arrivalUs: number): Promise<void> {
    const { redlock, waiterId } = this.#parts;
    this.#claim = { ...this.#claim, waiter: { id: waiterId, arrivalUs } };
    this.#subscriptions = await redlock.subscribe(this.#claim);
  }

  #pauseMs(attempt: Failure): number {
    const { random } = this.#parts;
    const between = ({ least, most }: { least: number; most: number }) =>
      least + random() * (most - least);
    if (attempt.kind !== 'busy') return between(outageMs);
    // Nobody holds it, and we are in nobody's way: contenders have split the masters among them. Or holders have, of several slots, each
    // with a bare quorum of his own: that lasts, and whoever is in line is called when it is over.
    const isSplit = !attempt.isHeld && (attempt.place ?? 0) === 0;
    this.#splitCount = isSplit ? this.#splitCount + 1 : 0;
    if (isSplit)
      return this.#subscriptions
        ? Math.min(between(soonMs) * 2 ** (this.#splitCount - 1), pollMs.most)
        : between(soonMs);
    const isNext = attempt.place === 0 && attempt.freeInMs !== null;
    return Math.min(
      between(pollMs),
      isNext ? attempt.freeInMs + expiryMs : Number.POSITIVE_INFINITY,
    );
  }

  /** Gives up our place, so that others need not wait for our silence to be noticed. */
  #leave(acquisition: NotAcquired): NotAcquired {
    if (this.#subscriptions)
      void this.#parts.redlock.release(this.#claim, 0, this.#recordOf(acquisition));
    return acquisition;
  }

  #recordOf(acquisition: NotAcquired): string | null {
    return this.#parts.recordOf?.(this.#claim, acquisition) ?? null;
  }
}

type Failure = Exclude<Attempt, { kind: 'acquired' }>;

function endingOf(attempt: Failure, masterCount: number): NotAcquired {
  if (isMisconfigured(attempt, masterCount))
    return { kind: 'misconfigured', failures: failuresOf(attempt) };
  switch (attempt.kind) {
    case 'busy': {
      if (attempt.supersededBy !== null) return { kind: 'superseded', by: attempt.supersededBy };
      const { holder, holderCount, freeInMs } = attempt;
      return { kind: 'busy', holder, holderCount, freeInMs };
    }
    case 'too-slow':
      return attempt;
    default:
      return { kind: 'unreachable', failures: attempt.failures };
  }
}

/** A server that must not be in the list, or so many that refuse us access that no quorum can ever answer. */
function isMisconfigured(attempt: Failure, masterCount: number): boolean {
  if (attempt.kind === 'unfit') return true;
  const deniedCount = failuresOf(attempt).filter(({ failed }) => failed.cause === 'denied').length;
  return deniedCount > masterCount - quorumOf(masterCount);
}

/** A master that has restarted too lately to vote has answered all the same: it is worth waiting for. */
function hasQuorumAnswered(attempt: Failure, masterCount: number): boolean {
  if (attempt.kind === 'busy' || attempt.kind === 'too-slow') return true;
  const mute = failuresOf(attempt).filter(({ failed }) => failed.cause !== 'restarted');
  return mute.length <= masterCount - quorumOf(masterCount);
}

function failuresOf(attempt: Failure): readonly MasterFailure[] {
  return attempt.kind === 'unfit' || attempt.kind === 'unreachable' ? attempt.failures : [];
}
