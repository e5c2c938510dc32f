// The lock of an enclosing run, for a nested run under it (--reentrant): confirmed by looking,
// never written to. The time that the masters still keep it says when the enclosing run last
// confirmed it, so the nested run stops in time by itself, whatever has become of the enclosing
// one.

import type { Clock, Report } from '../lock/ports.ts';
import { quorumOf, validUntilOf } from '../lock/quorum.ts';
import type { HeldLock, RedlockSettings } from '../lock/redlock.ts';
import { countOf, failuresIn, MasterSet } from '../lock/round.ts';
import {
  alone,
  type EnclosingLease,
  type Extension,
  type Lease,
  type MasterFailure,
  type Released,
  type Sharing,
} from '../lock/types.ts';
import { parseValue, sharingIn } from '../lock/value.ts';
import { type Acquisition, gaveUpAfter, type WaitRequest } from '../lock/wait.ts';
import { failed, isFailed } from './errors.ts';
import type { Server } from './server.ts';
import type { LockSnapshot } from './snapshot.ts';

type Look =
  | { readonly kind: 'held'; readonly lease: Lease; readonly grantedCount: number }
  | { readonly kind: 'lost'; readonly isTaken: boolean }
  | { readonly kind: 'unknown'; readonly failures: readonly MasterFailure[] };

/** What a master shows of the enclosing run's lock. */
interface Own {
  readonly kind: 'own';
  readonly value: string;
  readonly leftMs: number;
  readonly sharing: Sharing;
}

/** `isTaken`: by another value; otherwise there is none. */
type Vote = Own | { readonly kind: 'other'; readonly isTaken: boolean };

/** The interval between two looks when no quorum answers. */
const againMs = 100;
/** An extension moves the expiry by more than this part of the ttl; uneven answers by far less. */
const newsPart = 0.1;

const late = {
  master: 'masters',
  failed: failed('reply', 'the run around this one has not extended it yet'),
};

export class EnclosingLock implements HeldLock {
  readonly #masters: MasterSet<Server>;
  readonly #enclosing: EnclosingLease;
  readonly #clock: Clock;
  readonly #masterTimeoutMs: number;
  readonly #reserveMs: number;
  readonly #driftFactor: number;
  readonly #report: Report;

  constructor(
    enclosing: EnclosingLease,
    servers: readonly Server[],
    clock: Clock,
    { masterTimeoutMs, reserveMs, driftFactor }: RedlockSettings,
    report: Report,
  ) {
    this.#masters = new MasterSet(servers, clock, masterTimeoutMs, report);
    this.#enclosing = enclosing;
    this.#clock = clock;
    this.#masterTimeoutMs = masterTimeoutMs;
    this.#reserveMs = reserveMs;
    this.#driftFactor = driftFactor;
    this.#report = report;
  }

  /** Looks until a quorum has answered, for as long as a wait would go on without one. */
  async acquire(
    request: Pick<WaitRequest, 'waitMs' | 'giveUpAfterMs' | 'aborted'>,
  ): Promise<Acquisition> {
    const { waitMs, giveUpAfterMs, aborted } = request;
    const beganAt = this.#clock.now();
    const limitMs = Math.min(waitMs ?? giveUpAfterMs, giveUpAfterMs);
    for (;;) {
      const lookedAt = this.#clock.now();
      const look = await this.#look(aborted);
      if (aborted.aborted) return { kind: 'aborted' };
      const now = this.#clock.now();
      const waitedMs = now - beganAt;
      if (look.kind === 'held' && now + this.#reserveMs < look.lease.validUntil) {
        const { lease, grantedCount } = look;
        const elapsedMs = now - lookedAt;
        this.#report({ kind: 'acquired', grantedCount, elapsedMs, waitMs: waitedMs });
        return { kind: 'acquired', lease, grantedCount, elapsedMs };
      }
      if (look.kind === 'lost') return { kind: 'enclosing-lost' };
      const failures = look.kind === 'held' ? [late] : look.failures;
      if (waitedMs >= limitMs) {
        const gaveUpAfterMs = gaveUpAfter(request, waitedMs);
        return { kind: 'unreachable', failures, gaveUpAfterMs };
      }
      this.#report({ kind: 'no-quorum', failures, waitedMs });
      await this.#clock.sleep(againMs, aborted);
    }
  }

  /** The enclosing run may be a moment late, so there is a second look before that is a failure. */
  async extend(lease: Lease, ended: AbortSignal): Promise<Extension> {
    const first = await this.#seen(lease, ended);
    if (first.kind !== 'unreachable' || ended.aborted) return first;
    await this.#clock.sleep(this.#masterTimeoutMs / 2, ended);
    return this.#seen(lease, ended);
  }

  async release(): Promise<Released> {
    return { releasedCount: 0, isConfirmed: true, missing: null, failures: [] };
  }

  subscribe(): Promise<never> {
    return Promise.reject(new TypeError('the lock of another run has no waiters of this run'));
  }

  async settled(): Promise<void> {}

  /** Ends the connections. */
  async close(): Promise<void> {
    await Promise.all(this.#masters.masters.map((server) => server.close()));
  }

  async #seen(lease: Lease, ended: AbortSignal): Promise<Extension> {
    const look = await this.#look(ended);
    switch (look.kind) {
      case 'held': {
        const isNews = look.lease.startedAt - lease.startedAt > newsPart * lease.claim.ttlMs;
        if (!isNews) return { kind: 'unreachable', failures: [late] };
        const { lease: seen, grantedCount: extendedCount } = look;
        return { kind: 'extended', lease: seen, extendedCount, replacedBy: null };
      }
      case 'lost':
        return { kind: 'lost', reason: look.isTaken ? 'taken' : 'expired' };
      case 'unknown':
        return { kind: 'unreachable', failures: look.failures };
    }
  }

  /** Asks all masters, until a quorum agrees. */
  async #look(cancelled: AbortSignal): Promise<Look> {
    const askedAt = this.#clock.now();
    const { masters } = this.#masters;
    const count = masters.length;
    const quorum = quorumOf(count);
    const { votes } = await this.#masters.ask<Vote>({
      masters,
      ask: async (server) => {
        const snapshots = await server.look(this.#enclosing.names);
        return isFailed(snapshots) ? snapshots : this.#voteOf(snapshots);
      },
      isCertain: (given) =>
        countOf(given, 'own') >= quorum || countOf(given, 'other') > count - quorum,
      cancelled,
    });
    const own = [...votes.values()].filter((vote) => vote.kind === 'own');
    const others = [...votes.values()].filter((vote) => vote.kind === 'other');
    if (own.length >= quorum) {
      const lease = this.#leaseOf(own, askedAt, quorum);
      return { kind: 'held', lease, grantedCount: own.length };
    }
    if (others.length > count - quorum) {
      return { kind: 'lost', isTaken: others.some(({ isTaken }) => isTaken) };
    }
    return { kind: 'unknown', failures: failuresIn(votes) };
  }

  /** Whether a master shows all names of the lock as held by the enclosing run. */
  #voteOf(snapshots: readonly LockSnapshot[]): Vote {
    const { token } = this.#enclosing;
    const all = snapshots.flatMap(({ value, remainingMs, holders }) => {
      const shown = [{ value: value ?? '', remainingMs, slot: 0 }, ...holders];
      const mine = shown.find((one) => token !== '' && parseValue(one.value).token === token);
      return mine
        ? [
            {
              kind: 'own',
              value: mine.value,
              leftMs: mine.remainingMs ?? 0,
              sharing: sharingIn(value ?? '', mine.slot),
            } as const,
          ]
        : [];
    });
    const [shortest] = all.toSorted((a, b) => a.leftMs - b.leftMs);
    if (shortest && all.length === snapshots.length) return shortest;
    return { kind: 'other', isTaken: snapshots.some(({ type }) => type !== null) };
  }

  /** The lease as the enclosing run must have confirmed it last; never longer than one ttl. */
  #leaseOf(own: readonly Own[], askedAt: number, quorum: number): Lease {
    const { names, ttlMs, fence } = this.#enclosing;
    const {
      value = '',
      leftMs = 0,
      sharing = alone.sharing,
    } = own.toSorted((a, b) => b.leftMs - a.leftMs)[quorum - 1] ?? {};
    const startedAt = askedAt + Math.min(leftMs, ttlMs) - ttlMs;
    const claim = {
      resources: names,
      ...alone,
      sharing,
      token: this.#enclosing.token,
      value,
      ttlMs,
      isFenced: fence !== null,
      waiter: null,
    };
    return {
      claim,
      startedAt,
      validUntil: validUntilOf(startedAt, ttlMs, this.#driftFactor),
      fence,
    };
  }
}
