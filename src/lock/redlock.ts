// Redlock: acquire, extend and release, by rounds over all masters. Read it beside the distlock
// page: https://redis.io/docs/latest/develop/use/patterns/distributed-locks/
// It does not wait for a lock that is held, retry or keep a lease (wait.ts, lease-keeper.ts). No
// round waits for the slowest master: what a straggler grants after the verdict is used or rolled
// back.

import assert from 'node:assert';
import type { Clock, Master, Report } from './ports.ts';
import {
  acquireVerdictOf,
  awaitsOthers,
  contentionOf,
  extendVerdictOf,
  fenceOf,
  missingIn,
  quorumOf,
  replacedByIn,
  validUntilOf,
} from './quorum.ts';
import { countOf, failuresIn, MasterSet, type Votes } from './round.ts';
import type { RoundTimings } from './timings.ts';
import type {
  AcquireReply,
  Attempt,
  Claim,
  ExtendReply,
  Extension,
  Failed,
  Lease,
  MasterFailure,
  Released,
  ReleaseReply,
} from './types.ts';
import { Subscriptions } from './wait-queue.ts';

/** The part of a Redlock that a lease needs once it is held. */
export type HeldLock = Pick<Redlock, 'extend' | 'release' | 'settled' | 'subscribe'>;

/** The failure of a master that was sent a release and whose answer was not awaited. */
const lagging: Failed = { kind: 'failed', cause: 'timeout', message: 'has not been answering' };

export class Redlock {
  readonly masterCount: number;
  readonly #set: MasterSet<Master>;
  readonly #clock: Clock;
  readonly #timings: RoundTimings;
  readonly #report: Report;
  readonly #releasing = new Set<Promise<Released>>();
  /**
   * The state of each claim that was attempted or released here. Only what is ours is repaired, and
   * what has ended is never extended. Claims of other processes are absent.
   */
  readonly #standing = new WeakMap<Claim, 'ours' | 'ended'>();

  constructor(masters: readonly Master[], clock: Clock, timings: RoundTimings, report: Report) {
    this.masterCount = masters.length;
    this.#set = new MasterSet(masters, clock, timings.masterTimeoutMs, report);
    this.#clock = clock;
    this.#timings = timings;
    this.#report = report;
  }

  /**
   * Steps 1 to 5 of the page. When a failed attempt resolves, also one that `aborted` has cut
   * short, its rollback has begun.
   */
  async attempt(claim: Claim, aborted: AbortSignal): Promise<Attempt> {
    const startedAt = this.#clock.now();
    this.#standing.set(claim, 'ours');
    // A master that refuses us enters us in its queue. If we still win, we leave that queue, so
    // that the waiters behind us do not wait until we are forgotten.
    const refusers = new Set<Master>();
    let hasWon = false;
    const slow = this.#set.slow();
    const onRefusal = (master: Master) => {
      if (hasWon && claim.waiter) void master.dequeue(claim);
      else refusers.add(master);
    };
    const { votes, withdraw } = await this.#set.ask<AcquireReply>({
      masters: this.#set.masters,
      ask: (master, withdrawn) => master.acquire(claim, withdrawn),
      isCertain: (replies) => this.#isEnough(replies, claim, slow),
      onVote: (master, { kind }) => kind === 'refused' && onRefusal(master),
      cancelled: aborted,
    });
    const verdict = acquireVerdictOf(votes.values(), this.masterCount);
    const validUntil = this.#validUntil(claim, startedAt);
    let failures: readonly MasterFailure[] = verdict === 'granted' ? [] : failuresIn(votes);
    if (verdict === 'granted' && this.#isInTime(validUntil)) {
      const grantedCount = countOf(votes, 'granted');
      assert(grantedCount >= quorumOf(this.masterCount), 'a lease without a quorum of grants');
      const fence = fenceOf(votes.values(), this.masterCount);
      const lease = { claim, startedAt, validUntil, fence: fence.number };
      const agreed = fence.isAgreed ? lease : await this.#writeBack(lease, aborted);
      if ('claim' in agreed) {
        hasWon = true;
        refusers.forEach(onRefusal);
        const elapsedMs = this.#clock.now() - startedAt;
        return { kind: 'acquired', lease: agreed, grantedCount, elapsedMs };
      }
      failures = agreed;
    }
    withdraw();
    const { masters } = this.#set;
    // A master that refused holds nothing of ours, unless a write-back has repaired it since.
    const holding =
      verdict === 'granted'
        ? masters
        : masters.filter((master) => votes.get(master)?.kind !== 'refused');
    if (holding.length > 0) void this.#remove(claim, holding, (master) => master.rollback(claim));
    if (verdict === 'busy')
      return { kind: 'busy', ...contentionOf([...votes.values()], this.masterCount, claim) };
    if (verdict === 'granted' && failures.length === 0)
      return { kind: 'too-slow', elapsedMs: this.#clock.now() - startedAt };
    return { kind: verdict === 'misconfigured' ? verdict : 'unreachable', failures };
  }

  /**
   * An extension counts only if the quorum answered before the old validity ended. Otherwise the
   * lock was free for a moment, and another client may have held and released it without a trace.
   * After `ended` nothing more is sent, so that no extension can follow a release.
   */
  async extend(lease: Lease, ended: AbortSignal): Promise<Extension> {
    const { claim } = lease;
    assert(this.#standing.get(claim) !== 'ended', 'an extension after the release');
    const startedAt = this.#clock.now();
    const toRepair: Master[] = [];
    let confirmed: Lease | null = null;
    const { votes } = await this.#set.ask<ExtendReply>({
      masters: this.#set.masters,
      ask: (master, withdrawn) => master.extend(claim, lease.fence, withdrawn),
      isCertain: (replies) => extendVerdictOf(replies.values(), this.masterCount) !== 'undecided',
      onVote: (master, vote) => {
        if (vote.kind !== 'missing') return;
        if (confirmed) this.#repair(master, confirmed, ended);
        else toRepair.push(master);
      },
      cancelled: ended,
    });
    switch (extendVerdictOf(votes.values(), this.masterCount)) {
      case 'extended':
        if (this.#clock.now() >= lease.validUntil) return { kind: 'lost', reason: 'expired' };
        assert(
          countOf(votes, 'extended') >= quorumOf(this.masterCount),
          'an extension without a quorum',
        );
        confirmed = { ...lease, startedAt, validUntil: this.#validUntil(claim, startedAt) };
        for (const master of toRepair) this.#repair(master, confirmed, ended);
        return {
          kind: 'extended',
          lease: confirmed,
          extendedCount: countOf(votes, 'extended'),
          replacedBy: replacedByIn(votes.values(), this.masterCount),
        };
      case 'lost':
        return { kind: 'lost', reason: countOf(votes, 'taken') > 0 ? 'taken' : 'expired' };
      default:
        return { kind: 'unreachable', failures: failuresIn(votes) };
    }
  }

  /**
   * Removes our value from every master, or lets it expire after `keepMs`. Waits for the answers of
   * the masters that are no stragglers, at most for the master timeout. `line`: for the history.
   */
  release(claim: Claim, keepMs: number, line: string | null): Promise<Released> {
    const ask = (master: Master) => master.release(claim, keepMs, line);
    return this.#remove(claim, this.#set.masters, ask);
  }

  /** Waits only until a quorum has released, for a process that stays for the other answers. */
  releaseOnQuorum(claim: Claim): Promise<Released> {
    const ask = (master: Master) => master.release(claim, 0, null);
    const isEnough = (votes: Votes<Master, ReleaseReply>) =>
      countOf(votes, 'released') >= quorumOf(this.masterCount);
    return this.#remove(claim, this.#set.masters, ask, isEnough);
  }

  /** These failures, after those of all masters that fail at present. */
  withKnownFailures(failures: readonly MasterFailure[]): MasterFailure[] {
    const known = this.#set.failures();
    const isKnown = ({ master }: MasterFailure) => known.some((one) => one.master === master);
    return [...known, ...failures.filter((one) => !isKnown(one))];
  }

  /** Subscribes to the wake-ups of this id: see waiter-id.ts. */
  subscribe(resources: readonly string[], id: string): Promise<Subscriptions> {
    const { masters } = this.#set;
    return Subscriptions.join(masters, resources, id, this.#clock, this.#timings.masterTimeoutMs);
  }

  /** Resolves when every release under way has been answered or has run out of time. */
  async settled(): Promise<void> {
    await Promise.all(this.#releasing);
  }

  /** A refused round may go on (awaitsOthers), but not for masters that are slow. */
  #isEnough(
    replies: Votes<Master, AcquireReply>,
    { waiter }: Claim,
    slow: readonly Master[],
  ): boolean {
    const verdict = acquireVerdictOf(replies.values(), this.masterCount);
    if (verdict !== 'busy') return verdict !== 'undecided';
    if (!awaitsOthers([...replies.values()], this.masterCount, waiter !== null)) return true;
    const { masters } = this.#set;
    return masters.every((master) => replies.has(master) || slow.includes(master));
  }

  /**
   * Raises the counters of a quorum to our number, by an extension. Otherwise returns the failures
   * that prevented it; an empty list means it came too late, or the lock was lost.
   */
  async #writeBack(lease: Lease, aborted: AbortSignal): Promise<Lease | readonly MasterFailure[]> {
    this.#report({ kind: 'fence-raised', fence: lease.fence ?? 0 });
    const extension = await this.extend(lease, aborted);
    if (extension.kind === 'unreachable') return extension.failures;
    if (extension.kind !== 'extended') return [];
    return this.#isInTime(extension.lease.validUntil) ? extension.lease : [];
  }

  /**
   * Sets our value again on a master that came back without it. *Invariant:* only after a quorum
   * has extended before the old validity ended, and not once the new one has ended, so that a lost
   * lock is never revived.
   */
  async #repair(
    master: Master,
    { claim, fence, validUntil }: Lease,
    ended: AbortSignal,
  ): Promise<void> {
    if (this.#standing.get(claim) !== 'ours' || this.#clock.now() >= validUntil) return;
    const reply = await master.repair(claim, fence, ended);
    if (reply.kind === 'repaired') this.#report({ kind: 'master-repaired', master: master.name });
  }

  /** Ends a claim on these masters; `settled` waits for that. */
  #remove(
    claim: Claim,
    masters: readonly Master[],
    ask: (master: Master) => Promise<ReleaseReply>,
    isEnough: (votes: Votes<Master, ReleaseReply>) => boolean = () => false,
  ): Promise<Released> {
    this.#standing.set(claim, 'ended');
    const stragglers = this.#set.stragglers();
    const isCertain = (votes: Votes<Master, ReleaseReply>) =>
      isEnough(votes) ||
      masters.every((master) => votes.has(master) || stragglers.includes(master));
    const releasing = this.#set
      .ask<ReleaseReply>({ masters, ask, isCertain })
      .then(({ votes }) => this.#releasedBy(masters, votes));
    const forget = () => this.#releasing.delete(releasing);
    this.#releasing.add(releasing);
    releasing.then(forget, forget);
    return releasing;
  }

  #releasedBy(masters: readonly Master[], votes: Votes<Master, ReleaseReply>): Released {
    const failures = failuresIn(votes);
    const unanswered = masters.filter((master) => !votes.has(master));
    return {
      releasedCount: countOf(votes, 'released'),
      isConfirmed: votes.size - failures.length >= quorumOf(this.masterCount),
      missing: missingIn(votes.values(), this.masterCount),
      failures: [...failures, ...unanswered.map(({ name }) => ({ master: name, failed: lagging }))],
    };
  }

  /** Whether more validity is left than stopping the work takes. */
  #isInTime(validUntil: number): boolean {
    return this.#clock.now() + this.#timings.reserveMs < validUntil;
  }

  #validUntil({ ttlMs }: Claim, startedAt: number): number {
    return validUntilOf(startedAt, ttlMs, this.#timings.driftFactor);
  }
}
