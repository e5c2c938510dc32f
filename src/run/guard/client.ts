// redlock-run's side of its guard: starts it, tells it every new deadline, and has it start the
// command. Until then one that dies or does not confirm its deadline in time is replaced; after the
// start there is this guard and no other: see guarded-command.ts. redlock-run is a child subreaper
// itself, so it inherits the processes of a dead guard.
// *Invariant:* a command is started only by a guard that has read the deadline of this lease before
// the start, and only while that deadline has not passed.

import assert from 'node:assert/strict';
import { sleepAwake } from '../../lock/awake.ts';
import type { Clock } from '../../lock/ports.ts';
import type { Child } from '../child.ts';
import type { GuardEnd, TimeLeft } from '../ports.ts';
import type { Libc } from '../processes/libc.ts';
import { childrenHere, keepApart, OtherChildren } from '../processes/own-children.ts';
import type { ChildExit } from '../run-result.ts';
import { after } from './bounded-wait.ts';
import { GuardProcess, type GuardSupply } from './guard-process.ts';
import { GuardedCommand } from './guarded-command.ts';
import type {
  Answer,
  Deadlines,
  GuardConfig,
  GuardRequest,
  Readings,
  StartPlan,
} from './protocol.ts';

/** Before the start: how long a guard may take to answer, and to its first request. */
const answerMs = 2_000;
const startMs = 4_000;
/**
 * So many guards in a row may die before each has answered and run for `stableMs`: guards that die
 * at once protect nothing.
 */
const mostRestarts = 3;
const stableMs = 10_000;
/** How long to wait for the end of a killed guard. */
const endMs = 1_000;
/** How long one that keeps its code may take, on a disk that is busy. */
const keepMs = 5_000;

export interface GuardClientParts {
  readonly supply: GuardSupply;
  readonly config: GuardConfig;
  /** SIGKILL is sent so long before the end of validity. */
  readonly marginMs: number;
  readonly libc: Libc;
  readonly clock: Clock;
  readonly readingsNow: () => Readings;
  /** Before the start: another guard has been started. */
  readonly onRestart: (how: GuardEnd) => void;
  /** A deadline has passed, and the guard has begun to stop the tree. */
  readonly onStopping: () => void;
  /** While the command runs, or what it has left behind: that is ours to end. */
  readonly onLost: (how: GuardEnd) => void;
}

export class GuardClient {
  readonly #parts: GuardClientParts;
  readonly #others: OtherChildren;
  #guard: GuardProcess;
  #startedAt = 0;
  #restartCount = 0;
  #isDone = false;
  #hasCode = false;
  /** Of the requests that have not been answered; they end with the run. */
  readonly #limits = new Set<AbortController>();
  #isSilent = false;
  #failure: string | null = null;
  #deadlines: Deadlines | null = null;
  #configured: Promise<Answer | null>;
  /** Resolves when another guard takes the place of this one, or none does. */
  #isReplaced: Promise<void> = Promise.resolve();
  #replaced: () => void = () => {};
  /** Has been started, or is about to be. */
  #command: GuardedCommand | null = null;

  constructor(parts: GuardClientParts) {
    this.#parts = parts;
    if (process.platform === 'linux') parts.libc.becomeSubreaper();
    this.#others = new OtherChildren();
    const { spare, program } = parts.supply;
    this.#guard = spare ?? new GuardProcess(program);
    // The bundle that has started the spare one keeps a list of its own children. Without this,
    // a guard that dies could be reaped as an orphan, and its death would not be noticed.
    if (spare?.child) keepApart(spare.child);
    this.#configured = this.#employ();
  }

  /**
   * Resolves with null when a guard has confirmed these deadlines, or with why none can. Bounded.
   */
  async confirm(timeLeft: TimeLeft): Promise<string | null> {
    while (this.#failure === null) {
      const guard = this.#guard;
      const configured = await this.#configured;
      if (configured?.failure) return configured.failure;
      this.#hasCode = configured?.hasCode ?? false;
      if (configured && guard === this.#guard) {
        if (await this.#ask(this.#newDeadlines(timeLeft), answerMs)) return null;
      }
      if (guard === this.#guard && this.#failure === null) await this.#isReplaced;
    }
    return this.#failure;
  }

  /** Tells the guard the deadlines of a lease that has been confirmed again. */
  setDeadlines(timeLeft: TimeLeft): void {
    this.#command?.setDeadlines(this.#newDeadlines(timeLeft));
  }

  /** Has the guard start the command. To be called once. */
  start(plan: StartPlan): Child {
    if (this.#failure !== null || this.#deadlines === null) return neverStarted;
    assert(this.#command === null, 'a command is started once');
    const { config, marginMs, libc, readingsNow, onLost } = this.#parts;
    this.#others.note(childrenHere());
    this.#command = new GuardedCommand({
      guard: this.#guard,
      plan,
      graceMs: config.graceMs,
      marginMs,
      libc,
      others: this.#others,
      readingsNow,
      onLost,
    });
    this.#command.confirmed(this.#deadlines);
    return this.#command;
  }

  /** Ends the guard: nothing is left to guard. Resolves when it has ended. */
  async done(): Promise<void> {
    this.#isDone = true;
    for (const limit of this.#limits) limit.abort();
    this.#command?.end();
    if (this.#hasCode) {
      void this.#guard.ask({ kind: 'keep-code' });
      await Promise.race([this.#guard.ended, after(keepMs)]);
    }
    this.#guard.kill();
    await Promise.race([this.#guard.ended, after(endMs)]);
  }

  /** The clocks are read first: see timeLeftOf. */
  #newDeadlines(timeLeft: TimeLeft): Deadlines {
    const readings = this.#parts.readingsNow();
    const [stopInMs, killInMs] = timeLeft();
    this.#deadlines = { kind: 'deadlines', readings, stopInMs, killInMs };
    return this.#deadlines;
  }

  /**
   * Before the start. Resolves with the answer, or with null where there is no guard to give one:
   * it has died, or did not answer in time and is ended.
   */
  #ask(request: GuardRequest, limitMs: number): Promise<Answer | null> {
    if (this.#isDone || this.#failure !== null) return Promise.resolve(null);
    const guard = this.#guard;
    const answer = guard.ask(request);
    const over = new AbortController();
    this.#limits.add(over);
    void answer.then(() => {
      over.abort();
      this.#limits.delete(over);
    });
    void sleepAwake(this.#parts.clock, limitMs, over.signal).then(() => {
      // It may have been sent the start meanwhile: from then on it is not ended for being slow.
      if (over.signal.aborted || this.#command || guard !== this.#guard) return;
      this.#isSilent = true;
      guard.kill();
      // One that SIGKILL does not end has been sent no start, so it never starts anything.
      void after(endMs).then(() => this.#replace(guard, 'does not end'));
    });
    return answer;
  }

  /** Resolves when the guard can keep a tree, with its answer. */
  #employ(): Promise<Answer | null> {
    const { config, onStopping, readingsNow } = this.#parts;
    const guard = this.#guard;
    this.#startedAt = readingsNow().monotonic;
    this.#isSilent = false;
    this.#isReplaced = new Promise((resolve) => {
      this.#replaced = resolve;
    });
    guard.onMessage((message) => {
      if (message.kind === 'stopping') onStopping();
      else this.#command?.hear(message);
    });
    void guard.ended.then((how) => this.#replace(guard, how));
    return this.#ask({ kind: 'configure', config }, startMs);
  }

  #replace(guard: GuardProcess, how: string): void {
    if (this.#isDone || this.#command || guard !== this.#guard || this.#failure !== null) return;
    const ageMs = this.#parts.readingsNow().monotonic - this.#startedAt;
    const wasStable = guard.hasSpoken && ageMs >= stableMs;
    this.#restartCount = wasStable ? 1 : this.#restartCount + 1;
    if (this.#restartCount > mostRestarts) this.#failure = how;
    guard.dropRequests();
    this.#replaced();
    if (this.#failure !== null) return;
    const end = this.#isSilent ? 'silent' : 'died';
    this.#guard = new GuardProcess(this.#parts.supply.program);
    this.#configured = this.#employ();
    if (this.#deadlines) void this.#ask(this.#deadlines, startMs);
    this.#parts.onRestart(end);
  }
}

const exit: ChildExit = { kind: 'never-started', reason: 'guard-lost' };

/** The child of a run that has no guard left to start it. */
const neverStarted: Child = {
  started: Promise.resolve(undefined),
  exited: Promise.resolve({ exit, leftCount: 0, agoMs: 0 }),
  relay: () => {},
  stop: () => {},
  kill: () => Promise.resolve([]),
  countAlive: () => Promise.resolve(0),
  hasNamespace: false,
};
