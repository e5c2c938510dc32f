// One run of one command under one lease: an inbox of events, the supervisor's decisions, and their
// execution. *Invariant:* every exit, signal, alarm and answer becomes an event. The supervisor
// decides what is done about them; what is measured here (deadlines, leftovers, what is kept)
// decides how.

import assert from 'node:assert/strict';
import type { Unkillable } from '../lock/history.ts';
import { LeaseKeeper, standsForMs } from '../lock/lease-keeper.ts';
import type { Lease } from '../lock/types.ts';
import { slotOf } from '../lock/value.ts';
import {
  type Child,
  type ChildEnd,
  type ChildEvent,
  type RunHost,
  type RunLock,
  type RunSettings,
  timeLeftOf,
} from './ports.ts';
import { hasRun, isLoss, type RunEvent, type RunRecord, type Signal } from './record.ts';
import {
  type Action,
  type Event,
  endingOf,
  initialState,
  isKept,
  transition,
} from './supervisor.ts';

/** A signal that comes again within this time is repeated: two Ctrl-C stop the run. */
const repeatMs = 2_000;

export class Run {
  readonly #settings: RunSettings;
  readonly #lock: RunLock;
  readonly #host: RunHost;
  readonly #inbox: Event[] = [];
  readonly #acquisitionAbandoned = new AbortController();
  readonly #ended = new AbortController();
  readonly #now = () => this.#host.clock.now();
  #isBusy = false;
  #state = initialState;
  #keeper: LeaseKeeper | null = null;
  #lease: Lease | null = null;
  #child: Child | null = null;
  #leftCount = 0;
  #hasStarted = false;
  #isKilling = false;
  #isSwept = false;
  #crash: { readonly bug: unknown } | null = null;
  /** When each signal came last. */
  readonly #signalledAt = new Map<Signal, number>();
  #beganAt = 0;
  #acquiredAt = 0;
  #startedAt = 0;
  #exitedAt: number | null = null;
  #unconfirmedMs: number | null = null;
  #finish: (record: RunRecord) => void = () => {};
  #fail: (bug: unknown) => void = () => {};

  constructor(settings: RunSettings, lock: RunLock, host: RunHost) {
    this.#settings = settings;
    this.#lock = lock;
    this.#host = host;
  }

  /**
   * Resolves when the lock has been released, or left to expire, or was not acquired. Rejects on a
   * bug, after killing the child.
   */
  start(): Promise<RunRecord> {
    this.#beganAt = this.#now();
    this.#acquire().catch(this.crash);
    return new Promise((resolve, reject) => {
      this.#finish = resolve;
      this.#fail = reject;
    });
  }

  /** Handles an event. Events are handled one after the other, in their order. */
  post(event: Event): void {
    if (this.#crash) return;
    this.#inbox.push(event);
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      for (let next = this.#inbox.shift(); next; next = this.#inbox.shift()) {
        const [state, actions] = transition(this.#state, next);
        this.#state = state;
        for (const action of actions) this.#perform(action);
        if (state.phase === 'done') this.#finish(this.#record());
      }
    } catch (bug) {
      this.crash(bug);
    } finally {
      this.#isBusy = false;
    }
  }

  /** A signal has come; `isFromTerminal`: the command has received it itself, if it is there. */
  signal(signal: Signal, isFromTerminal: boolean): void {
    const now = this.#now();
    const lastAt = this.#signalledAt.get(signal) ?? Number.NEGATIVE_INFINITY;
    const isRepeated = now - lastAt < repeatMs;
    this.#signalledAt.set(signal, now);
    this.post({
      kind: 'signal',
      signal,
      isFromTerminal: isFromTerminal && this.#hasStarted,
      isRepeated,
    });
  }

  #report(event: RunEvent): void {
    const isFirstLoss = isLoss(event) && this.#unconfirmedMs === null;
    if (isFirstLoss) this.#unconfirmedMs = this.#now() - this.#confirmed.startedAt;
    this.#host.report(event);
    if (isFirstLoss) this.#host.onLost(this.#confirmed, this.#record());
  }

  #perform(action: Action): void {
    switch (action.kind) {
      case 'abandon-acquisition':
        return this.#acquisitionAbandoned.abort(this.#state.cause);
      case 'start-child':
        return this.#startChild();
      case 'relay':
        this.#child?.relay(action.signal);
        return this.#report({ kind: 'relayed', signal: action.signal });
      case 'suspend':
        this.#child?.relay('SIGSTOP');
        return this.#host.suspendUs();
      case 'stop':
        return this.#stop(action.signal ?? this.#settings.stopSignal);
      case 'kill':
        return this.#kill();
      case 'sweep':
        return this.#sweepLeftovers();
      case 'release':
        return void this.#release().catch(this.crash);
      case 'report':
        return this.#report(action.event);
    }
  }

  async #acquire(): Promise<void> {
    const acquisition = await this.#lock.acquire(this.#acquisitionAbandoned.signal);
    this.#acquiredAt = this.#now();
    if (acquisition.kind !== 'acquired')
      return this.post({ kind: 'not-acquired', refusal: acquisition });
    this.#lease = acquisition.lease;
    this.post({ kind: 'acquired' });
  }

  #startChild(): void {
    const { held: redlock, listen } = this.#lock;
    const { clock, startChild } = this.#host;
    const { maxRunMs } = this.#settings;
    const lease = this.#confirmed;
    this.#startedAt = this.#now();
    const ports = { ...this.#host, redlock, listen };
    this.#keeper = new LeaseKeeper(lease, this.#settings, ports, (event) => {
      if (event.kind === 'confirmed') return this.#onConfirmed(event.lease);
      return event.kind === 'bug' ? this.crash(event.bug) : this.post(event);
    });
    if (this.#keeper.isStopDue) {
      const exit = { kind: 'never-started', reason: 'suspended' } as const;
      return this.post({ kind: 'child-exited', exit });
    }
    const timeLeft = timeLeftOf(lease, this.#settings, clock);
    this.#child = startChild(lease, timeLeft, (event) => this.#hear(event));
    this.#keeper.begin(true);
    if (maxRunMs !== null) this.#alarm(maxRunMs, { kind: 'max-run' });
  }

  #hear(event: ChildEvent): void {
    if (event.kind === 'swept') this.#isSwept = true;
    if (this.#crash) return this.#isSwept ? this.#fail(this.#crash.bug) : undefined;
    switch (event.kind) {
      case 'started':
        this.#hasStarted = true;
        return this.#report({ kind: 'child-started', pid: event.pid });
      case 'exited':
        return this.#exited(event);
      case 'stopping':
        return this.#stoppedByGuard(event.isStarved);
      case 'guard-lost':
        this.#report(event);
        return this.post({ kind: 'lost', reason: 'guard-lost' });
      case 'swept':
        return this.#swept(event.unkillable);
    }
  }

  #onConfirmed(lease: Lease): void {
    const { clock } = this.#host;
    this.#child?.setDeadlines(timeLeftOf(lease, this.#settings, clock));
    if (this.#lock.areMastersReplaced()) this.post({ kind: 'lost', reason: 'masters-replaced' });
  }

  /** `isStarved`: before a deadline, for want of CPU. */
  #stoppedByGuard(isStarved: boolean): void {
    const reason = this.#keeper?.overdueReason;
    assert(reason, 'a stop was reported before there was a lease keeper');
    this.post({ kind: 'lost', reason: isStarved ? 'starved' : reason });
  }

  #exited({ exit, leftCount, agoMs }: ChildEnd): void {
    if (exit.kind === 'never-started') return this.post({ kind: 'child-exited', exit });
    if (!hasRun(exit)) {
      this.#report({ kind: 'child-exited', exit, runMs: null });
      return this.post({ kind: 'child-exited', exit });
    }
    const exitedAt = this.#now() - agoMs;
    this.#exitedAt = exitedAt;
    this.#leftCount = leftCount;
    this.#report({ kind: 'child-exited', exit, runMs: exitedAt - this.#startedAt });
    // The command ended after validity, or the guard ended it before this process would have.
    const isByGuard = exit.kind !== 'exited' && this.#keeper?.isStopDue;
    const isOutlived = leftCount === 0 && this.#endOutlived(exitedAt);
    if (!isOutlived && isByGuard) this.#stoppedByGuard(false);
    this.post({ kind: 'child-exited', exit });
  }

  #stop(signal: Signal): void {
    const { cause } = this.#state;
    const { validUntil, startedAt } = this.#confirmed;
    const now = this.#now();
    if (cause?.kind === 'lost') this.#keeper?.stopExtending();
    this.#child?.stop(signal);
    this.#alarm(this.#settings.graceMs, { kind: 'kill-due' });
    if (!cause) return;
    const [validMs, unconfirmedMs] = [validUntil - now, now - startedAt];
    this.#report({ kind: 'stopping', cause, signal, validMs, unconfirmedMs });
  }

  #kill(): void {
    if (this.#isKilling) return;
    this.#isKilling = true;
    this.#report({ kind: 'killed' });
    this.#child?.kill();
  }

  #sweepLeftovers(): void {
    const { graceMs, keepsBackground, stopSignal } = this.#settings;
    const [child, count] = [this.#child, this.#leftCount];
    assert(child, 'leftover processes of a command that was never started');
    const hasEndedByItself = this.#state.cause?.kind === 'child';
    if (count === 0 || !hasEndedByItself) return;
    this.#report({ kind: 'leftovers', count, isKept: keepsBackground });
    if (keepsBackground) {
      child.keep();
      this.#isSwept = true;
      return this.post({ kind: 'swept', unkillable: [] });
    }
    child.stop(stopSignal);
    this.#alarm(graceMs, { kind: 'kill-due' });
  }

  #swept(unkillable: readonly Unkillable[]): void {
    if (this.#isKilling || this.#leftCount > 0) this.#endOutlived(this.#now());
    this.post({ kind: 'swept', unkillable });
  }

  /**
   * Posts a loss if validity had ended by `instant`, when processes were still alive; returns
   * whether it did.
   */
  #endOutlived(instant: number): boolean {
    const isOutlived = instant >= this.#confirmed.validUntil;
    if (isOutlived) this.post({ kind: 'lost', reason: 'suspended', isOutlived });
    return isOutlived;
  }

  async #release(): Promise<void> {
    const { held, entryOf } = this.#lock;
    const { holdOn, holdAtLeastMs } = this.#settings;
    this.#end();
    const { claim, validUntil } = this.#confirmed;
    const { unkillable } = this.#state;
    const isAbandoned = unkillable.length > 0;
    const now = this.#now();
    const keepUntil = isKept(this.#state, holdOn) ? this.#acquiredAt + holdAtLeastMs : 0;
    const restMs = Math.max(0, keepUntil - now);
    // Processes may still work under the lock: no master frees it before it would expire.
    const keepMs = isAbandoned ? this.#standsForMs(restMs) : restMs;
    if (isAbandoned) this.#report({ kind: 'unkillable', unkillable, remainingMs: keepMs });
    const entry = entryOf(claim, this.#record());
    const released = await held.release(claim, Math.ceil(keepMs), entry);
    const { releasedCount, isConfirmed, missing, failures } = released;
    if (!isAbandoned && isConfirmed) this.#report({ kind: 'released', releasedCount, keepMs });
    else if (!isAbandoned) {
      const remainingMs = this.#standsForMs(keepMs);
      this.#report({ kind: 'release-unconfirmed', failures, remainingMs });
    }
    if (missing && this.#now() < validUntil) this.post({ kind: 'missing', reason: missing });
    await held.settled();
    this.post({ kind: 'released' });
  }

  #end(): void {
    this.#keeper?.end();
    this.#ended.abort();
  }

  #standsForMs(keepMs: number): number {
    const { startedAt, claim } = this.#confirmed;
    return this.#keeper?.standsForMs(keepMs) ?? standsForMs(startedAt, claim, keepMs, this.#now());
  }

  #alarm(afterMs: number, event: Event): void {
    const ended = this.#ended.signal;
    this.#host.clock.sleep(afterMs, ended).then(() => ended.aborted || this.post(event));
  }

  /** The facts up to now. */
  #record(): RunRecord {
    const ending = endingOf(this.#state);
    const lease = this.#lease;
    return {
      ...ending,
      ...this.#host.seen(),
      waitMs: this.#acquiredAt - this.#beganAt,
      runMs: this.#runMs(),
      heldMs: hasRun(ending.childExit) ? this.#now() - this.#acquiredAt : null,
      extensionCount: this.#keeper?.extensionCount ?? 0,
      fence: lease?.fence ?? null,
      slot: lease && this.#child ? slotOf(lease.claim, this.#settings.slotCount) : null,
      unconfirmedMs: this.#unconfirmedMs,
    };
  }

  #runMs(): number | null {
    if (this.#exitedAt === null && !this.#hasStarted) return null;
    return (this.#exitedAt ?? this.#now()) - this.#startedAt;
  }

  /** A bug: the command is killed, the keys are left to expire, then the stack is shown. */
  readonly crash = (bug: unknown): void => {
    if (this.#crash) return;
    this.#crash = { bug };
    this.#end();
    this.#child?.kill();
    if (this.#child === null || this.#isSwept) this.#fail(bug);
  };

  get #confirmed(): Lease {
    const lease = this.#keeper?.lease ?? this.#lease;
    assert(lease, 'no lease has been acquired yet');
    return lease;
  }
}
