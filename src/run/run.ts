// One run of one command under one lease: an inbox of events, the supervisor's decisions, and their execution. It neither
// knows Redis nor prints. The surprise: nothing here reacts to the world directly. Every exit, signal, alarm and answer becomes
// an event, one at a time, and only what the supervisor says is done.

import assert from 'node:assert/strict';
import { Ending } from '../lock/ending.ts';
import type { Lease } from '../lock/redlock.ts';
import { endLeftovers } from './aftermath.ts';
import type { Child } from './child.ts';
import { LeaseWatch } from './lease-watch.ts';
import { neverStarted } from './never-started.ts';
import type { Finished, RunParts, RunSettings } from './run-parts.ts';
import { type Action, type Event, endingOf, hasRun, initialState, type Signal, transition } from './supervisor.ts';

export type { Finished, GuardLink, RunParts, RunSettings } from './run-parts.ts';

/** Who has waited is waited for, most of the time: until the next one has begun we do not end, which would keep small machines busy. */
const courtesyMs = 10;

export class Run {
  readonly #settings: RunSettings;
  readonly #parts: RunParts;
  readonly #inbox: Event[] = [];
  readonly #acquisitionAbandoned = new AbortController();
  readonly #killing = new Ending();
  readonly #ended = new Ending();
  #isBusy = false;
  #state = initialState;
  #watch: LeaseWatch | null = null;
  #lease: Lease | null = null;
  #child: Child | null = null;
  #beganAt = 0;
  #acquiredAt = 0;
  #startedAt = 0;
  #exitedAt: number | null = null;
  #unprovenMs: number | null = null;
  #finish: (finished: Finished) => void = () => {};
  #fail: (bug: unknown) => void = () => {};

  constructor(settings: RunSettings, parts: RunParts) {
    this.#settings = settings;
    this.#parts = parts;
  }

  /** Resolves when the command has ended and the lock has been released. Rejects on a bug, after killing the child. */
  start(): Promise<Finished> {
    this.#beganAt = this.#now();
    this.#acquire().catch(this.crash);
    return new Promise((resolve, reject) => {
      this.#finish = resolve;
      this.#fail = reject;
    });
  }

  /** Something happened outside: a signal came, or the guard cannot be kept alive. */
  post(event: Extract<Event, { kind: 'signal' | 'lost' }>): void {
    this.#post(event);
  }

  #post(event: Event): void {
    this.#inbox.push(event);
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      for (let next = this.#inbox.shift(); next; next = this.#inbox.shift()) {
        const [state, actions] = transition(this.#state, next);
        this.#state = state;
        for (const action of actions) this.#perform(action);
        if (state.phase === 'done') this.#finish(this.#finished());
      }
    } catch (bug) {
      this.crash(bug);
    } finally {
      this.#isBusy = false;
    }
  }

  #perform(action: Action): void {
    const { report, suspendUs } = this.#parts;
    switch (action.kind) {
      case 'abandon-acquisition':
        return this.#acquisitionAbandoned.abort(this.#state.cause);
      case 'start-child':
        return this.#startChild();
      case 'relay':
        this.#child?.relay(action.signal);
        return report({ kind: 'relayed', signal: action.signal });
      case 'suspend':
        this.#child?.relay('SIGSTOP');
        return suspendUs();
      case 'stop':
        return this.#stop(action.signal ?? this.#settings.stopSignal);
      case 'kill':
        return this.#kill();
      case 'sweep':
        this.#sweep().catch(this.crash);
        return;
      case 'release':
        this.#release().catch(this.crash);
        return;
      case 'tell-missing':
        return this.#tellMissing(action.isLoss);
      case 'abandon':
        return this.#abandon(action.untouchable);
    }
  }

  async #acquire(): Promise<void> {
    const acquisition = await this.#parts.acquire(this.#acquisitionAbandoned.signal);
    this.#acquiredAt = this.#now();
    if (acquisition.kind !== 'acquired') return this.#post({ kind: 'not-acquired', acquisition });
    this.#lease = acquisition.lease;
    this.#post({ kind: 'acquired' });
  }

  #startChild(): void {
    const { guard, report, startChild } = this.#parts;
    const lease = this.#proven;
    this.#startedAt = this.#now();
    this.#watch = new LeaseWatch(lease, this.#settings, {
      ...this.#parts,
      onProven: (stopInMs, killInMs) => guard.arm(stopInMs, killInMs),
      onLost: (reason) => this.#post({ kind: 'lost', reason }),
      onWanted: (by) => this.#post({ kind: 'wanted', by }),
      onKillDue: () => this.#post({ kind: 'kill-due' }),
      onBug: this.crash,
    });
    const { isDue } = this.#watch;
    if (isDue) this.#post({ kind: 'lost', reason: 'stalled' });
    const child = isDue ? neverStarted : startChild(lease);
    this.#child = child;
    guard.watch(child);
    this.#watch.begin();
    report({ kind: 'child-started', pid: child.pid });
    child.exited.then((exit) => {
      this.#exitedAt = this.#now();
      report({ kind: 'child-exited', exit, runMs: this.#exitedAt - this.#startedAt });
      // By the guard, while we were stopped: its own word may come after that of the system.
      if (exit.kind === 'signaled' && this.#watch?.isDue) this.#post({ kind: 'lost', reason: 'stalled' });
      this.#post({ kind: 'child-exited', exit });
    });
    const { maxRunMs } = this.#settings;
    if (maxRunMs !== null) this.#alarm(maxRunMs, { kind: 'overdue' });
  }

  #stop(signal: Signal): void {
    const { cause } = this.#state;
    const { validUntil, startedAt } = this.#proven;
    const now = this.#now();
    if (cause?.kind === 'lost') {
      this.#watch?.stopExtending();
      this.#unprovenMs = now - startedAt;
    }
    this.#child?.stop(signal);
    this.#alarm(this.#settings.graceMs, { kind: 'kill-due' });
    if (!cause) return;
    this.#parts.report({ kind: 'stopping', cause, signal, validMs: validUntil - now, unprovenMs: now - startedAt });
  }

  #kill(): void {
    if (this.#killing.aborted) return;
    this.#killing.abort();
    this.#parts.report({ kind: 'killed' });
    this.#child?.kill().then((untouchable) => this.#post({ kind: 'swept', untouchable }), this.crash);
  }

  async #sweep(): Promise<void> {
    const { clock, report } = this.#parts;
    const { graceMs, keepsBackground, stopSignal } = this.#settings;
    const child = this.#child;
    assert(child, 'only what was started can be swept');
    const hasEndedWell = this.#state.cause?.kind === 'child';
    if (hasEndedWell && keepsBackground) {
      const count = child.aliveCount();
      if (count > 0) report({ kind: 'leftovers', count, isKept: true });
      return this.#post({ kind: 'swept', untouchable: [] });
    }
    const onLeftovers = (count: number) => {
      if (!hasEndedWell) return;
      report({ kind: 'leftovers', count, isKept: false });
      child.stop(stopSignal);
      this.#alarm(graceMs, { kind: 'kill-due' });
    };
    const untouchable = await endLeftovers({ child, clock, onLeftovers, killing: this.#killing });
    this.#post({ kind: 'swept', untouchable });
  }

  async #release(): Promise<void> {
    const { redlock, clock, report, guard, recordOf } = this.#parts;
    this.#end();
    const { claim, validUntil } = this.#proven;
    const now = this.#now();
    const keepMs = Math.max(0, this.#keepUntil() - now);
    const record = recordOf(claim, this.#finished(), now - this.#acquiredAt);
    const releasing = redlock.release(claim, Math.ceil(keepMs), record);
    if (claim.waiter !== null) await clock.sleep(courtesyMs);
    guard.done();
    const { releasedCount, isConfirmed, missing, failures } = await releasing;
    if (isConfirmed) report({ kind: 'released', releasedCount, keepMs });
    else report({ kind: 'release-unconfirmed', failures, remainingMs: Math.max(0, validUntil - this.#now()) });
    if (missing && this.#now() < validUntil) this.#post({ kind: 'missing', reason: missing });
    await redlock.settled();
    this.#post({ kind: 'released' });
  }

  #tellMissing(isLoss: boolean): void {
    if (isLoss) this.#unprovenMs = this.#now() - this.#proven.startedAt;
    this.#parts.report({ kind: isLoss ? 'found-lost' : 'found-gone' });
  }

  #abandon(pids: readonly number[]): void {
    this.#end();
    const { validUntil } = this.#proven;
    this.#parts.report({ kind: 'untouchable', pids, remainingMs: Math.max(0, validUntil - this.#now()) });
    this.#parts.guard.done();
  }

  #end(): void {
    this.#watch?.end();
    this.#ended.abort();
  }

  /** A job that never ran, or ran without its lock, leaves nothing that others should keep away from. */
  #keepUntil(): number {
    return hasRun(this.#state) && this.#state.cause?.kind !== 'lost'
      ? this.#acquiredAt + this.#settings.holdAtLeastMs
      : 0;
  }

  #alarm(afterMs: number, event: Event): void {
    const ended = this.#ended;
    this.#parts.clock.sleep(afterMs, ended).then(() => ended.aborted || this.#post(event));
  }

  #finished(): Finished {
    return {
      ending: endingOf(this.#state),
      waitMs: this.#acquiredAt - this.#beganAt,
      runMs: this.#exitedAt === null ? null : this.#exitedAt - this.#startedAt,
      extensionCount: this.#watch?.extensionCount ?? 0,
      fence: this.#lease?.fence ?? null,
      unprovenMs: this.#unprovenMs,
    };
  }

  /** A bug of ours: what runs is killed first, the keys are left to expire, and then the stack may be shown. */
  readonly crash = (bug: unknown): void => {
    this.#end();
    const killed = this.#child?.kill() ?? Promise.resolve([]);
    killed.finally(() => this.#fail(bug));
  };

  /** The lease as it was last proven. */
  get #proven(): Lease {
    const lease = this.#watch?.lease ?? this.#lease;
    assert(lease, 'nothing happens to a lease before it was acquired');
    return lease;
  }

  #now(): number {
    return this.#parts.clock.now();
  }
}
