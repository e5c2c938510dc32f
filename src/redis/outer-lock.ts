// The lock of a run around us, for a nested run that goes on under it (--reentrant): proven by looking, never written to. The outer run
// extends it; we look whether it has. Nothing is acquired, extended or released here. The surprise: a lease that is looked at has the
// same validity as one that is extended. What the masters have left of it tells when the outer run last proved it, and with that we stop
// in time by ourselves, whatever has become of the outer run.

import type { Acquisition, Patience } from '../lock/acquire.ts';
import type { MasterFailure, Report } from '../lock/events.ts';
import { parseValue } from '../lock/holder.ts';
import type { Extension, Lease, OuterLease, Released } from '../lock/outcomes.ts';
import { alone, type Clock, type Failed } from '../lock/ports.ts';
import type { HeldLock, RedlockSettings } from '../lock/redlock.ts';
import { quorumOf, validUntilOf } from '../lock/validity.ts';
import type { Inspector, Sight } from './inspector.ts';
import { failed, isFailed } from './trouble.ts';

type Look =
  | { readonly kind: 'held'; readonly lease: Lease }
  | { readonly kind: 'lost'; readonly isTaken: boolean }
  | { readonly kind: 'unknown'; readonly failures: readonly MasterFailure[] };

/** What a master shows for the outer run. */
interface Own {
  readonly value: string;
  readonly leftMs: number;
}

/** Between two looks when no quorum answers. */
const againMs = 100;
/** An extension sets the expiry ahead by more than this part of the ttl; what comes of uneven answers is far less. */
const newsPart = 0.1;

const late = { master: 'masters', failed: failed('reply', 'the run around this one has not extended it yet') };

export class OuterLock implements HeldLock {
  readonly #inspectors: readonly Inspector[];
  readonly #outer: OuterLease;
  readonly #clock: Clock;
  readonly #masterTimeoutMs: number;
  readonly #reserveMs: number;
  readonly #report: Report;
  readonly #failing = new Set<string>();

  constructor(
    outer: OuterLease,
    inspectors: readonly Inspector[],
    clock: Clock,
    { masterTimeoutMs, reserveMs }: RedlockSettings,
    report: Report,
  ) {
    this.#inspectors = inspectors;
    this.#outer = outer;
    this.#clock = clock;
    this.#masterTimeoutMs = masterTimeoutMs;
    this.#reserveMs = reserveMs;
    this.#report = report;
  }

  /** Looks until a quorum has told, or for as long as an attempt to acquire would go on without one. */
  async acquire({ waitMs, giveUpAfterMs, aborted }: Patience): Promise<Acquisition> {
    const beganAt = this.#clock.now();
    const patienceMs = Math.min(waitMs ?? giveUpAfterMs, giveUpAfterMs);
    for (;;) {
      const look = await this.#look(aborted);
      if (aborted.aborted) return { kind: 'aborted' };
      const now = this.#clock.now();
      const isOfUse = look.kind === 'held' && now + this.#reserveMs < look.lease.validUntil;
      if (isOfUse) return { kind: 'acquired', lease: look.lease };
      if (look.kind === 'lost') return { kind: 'outer-lost' };
      const failures = look.kind === 'held' ? [late] : look.failures;
      const waitedMs = now - beganAt;
      if (waitedMs >= patienceMs) return { kind: 'unreachable', failures };
      this.#report({ kind: 'no-quorum', failures, waitedMs });
      await this.#clock.sleep(againMs, aborted);
    }
  }

  /** The outer run may be a moment behind: it is given one more look before nothing new counts as a failure. */
  async extend(lease: Lease, ended: AbortSignal = new AbortController().signal): Promise<Extension> {
    const first = await this.#seen(lease, ended);
    if (first.kind !== 'unreachable' || ended.aborted) return first;
    await this.#clock.sleep(this.#masterTimeoutMs / 2, ended);
    return this.#seen(lease, ended);
  }

  async release(): Promise<Released> {
    return { releasedCount: 0, isConfirmed: true, missing: null, failures: [] };
  }

  joinLine(): Promise<never> {
    return Promise.reject(new TypeError('nobody waits under the lock of another run'));
  }

  async settled(): Promise<void> {
    for (const inspector of this.#inspectors) inspector.close();
  }

  async #seen(lease: Lease, ended: AbortSignal): Promise<Extension> {
    const look = await this.#look(ended);
    switch (look.kind) {
      case 'held': {
        const isNews = look.lease.startedAt - lease.startedAt > newsPart * lease.claim.ttlMs;
        if (isNews)
          return { kind: 'extended', lease: look.lease, extendedCount: this.#inspectors.length, wantedBy: null };
        return { kind: 'unreachable', failures: [late] };
      }
      case 'lost':
        return { kind: 'lost', reason: look.isTaken ? 'taken' : 'expired' };
      case 'unknown':
        return { kind: 'unreachable', failures: look.failures };
    }
  }

  /** Asks all masters, and goes by the first quorum that agrees. */
  async #look(cancelled: AbortSignal): Promise<Look> {
    const askedAt = this.#clock.now();
    const count = this.#inspectors.length;
    const quorum = quorumOf(count);
    const certain = new AbortController();
    const end = () => certain.abort();
    if (cancelled.aborted) end();
    cancelled.addEventListener('abort', end, { once: true });
    const own: Own[] = [];
    const others: (readonly Sight[])[] = [];
    const failures = new Map(this.#inspectors.map(({ name }) => [name, silent]));
    let answeredCount = 0;
    for (const inspector of this.#inspectors) {
      inspector.look(this.#outer.names).then((reply) => {
        answeredCount += 1;
        this.#note(inspector.name, reply);
        if (isFailed(reply)) failures.set(inspector.name, reply);
        else {
          failures.delete(inspector.name);
          const mine = this.#ownOn(reply);
          if (mine === null) others.push(reply);
          else own.push(mine);
        }
        const isCertain = own.length >= quorum || others.length > count - quorum || answeredCount === count;
        if (isCertain) end();
      });
    }
    await this.#clock.sleep(this.#masterTimeoutMs, certain.signal);
    cancelled.removeEventListener('abort', end);
    if (own.length >= quorum) return { kind: 'held', lease: this.#leaseOf(own, askedAt, quorum) };
    if (others.length > count - quorum)
      return { kind: 'lost', isTaken: others.flat().some(({ type }) => type !== null) };
    return { kind: 'unknown', failures: [...failures].map(([master, failed]) => ({ master, failed })) };
  }

  /** What a master shows for all that the outer run holds; null: not for all of it. */
  #ownOn(sights: readonly Sight[]): Own | null {
    const { token } = this.#outer;
    const all = sights.flatMap(({ value, remainingMs, holders }): Own[] => {
      const shown = [{ value: value ?? '', remainingMs }, ...holders];
      const mine = shown.find((one) => token !== '' && parseValue(one.value).token === token);
      return mine ? [{ value: mine.value, leftMs: mine.remainingMs ?? 0 }] : [];
    });
    const [shortest] = all.toSorted((a, b) => a.leftMs - b.leftMs);
    return shortest && all.length === sights.length ? shortest : null;
  }

  /** As the outer run has it: from when it must have been proven last, and never for longer than one ttl. */
  #leaseOf(own: readonly Own[], askedAt: number, quorum: number): Lease {
    const { names, ttlMs, fence } = this.#outer;
    const { value = '', leftMs = 0 } = own.toSorted((a, b) => b.leftMs - a.leftMs)[quorum - 1] ?? {};
    const startedAt = askedAt + Math.min(leftMs, ttlMs) - ttlMs;
    const claim = { resources: names, ...alone, value, ttlMs, isFenced: fence !== null, waiter: null };
    return { claim, startedAt, validUntil: validUntilOf(startedAt, ttlMs), fence };
  }

  #note(master: string, reply: readonly Sight[] | Failed): void {
    if (isFailed(reply) && !this.#failing.has(master)) {
      this.#failing.add(master);
      this.#report({ kind: 'master-failing', master, failed: reply });
    } else if (!isFailed(reply) && this.#failing.delete(master)) {
      this.#report({ kind: 'master-recovered', master });
    }
  }
}

const silent = failed('timeout', 'no answer');
