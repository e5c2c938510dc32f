// redlock-run's side of its guard: starts it, tells it every new deadline, has it start and end the
// command, and starts another when it dies or does not answer. redlock-run is a child subreaper
// itself, so it inherits the processes of a dead guard, and keeps and ends them from here.
// *Invariant:* a command is started only by a guard that has confirmed the deadline of this lease.

import { type Child, exitOf } from '../child.ts';
import type { TimeLeft } from '../ports.ts';
import { KeptTree } from '../processes/kept-tree.ts';
import type { Libc } from '../processes/libc.ts';
import { keepApart, OtherChildren, reapOrphans } from '../processes/own-children.ts';
import { processEntry } from '../processes/process-table.ts';
import type { ProcessTree, RunningCommand } from '../processes/process-tree.ts';
import { SeenTree } from '../processes/seen-tree.ts';
import type { ChildExit, Signal } from '../supervisor.ts';
import { GuardProcess, type GuardSupply } from './guard-process.ts';
import {
  type Answer,
  type Deadlines,
  type Exited,
  type GuardConfig,
  type GuardRequest,
  leastMsSince,
  type Readings,
  type StartPlan,
} from './protocol.ts';

/** A guard that does not answer for so long is frozen; the first answer includes its start. */
const answerMs = 2_000;
const startMs = 4_000;
/** How often the guard is asked for a sign of life while the command runs. */
const pingEveryMs = 1_000;
/**
 * So many guards in a row may die before each has answered and run for `stableMs`: guards that die
 * at once protect nothing.
 */
const mostRestarts = 3;
const stableMs = 10_000;
/** The interval between two looks at a command with a dead guard. */
const lookMs = 50;
/** How long to wait for the end of a killed guard. */
const endMs = 1_000;

export interface GuardClientParts {
  readonly supply: GuardSupply;
  readonly config: GuardConfig;
  /** How long the guard may take over SIGKILL before redlock-run does it itself. */
  readonly killAnswerMs: number;
  readonly libc: Libc;
  readonly readingsNow: () => Readings;
  /** A guard has died, and another one has been started. */
  readonly onRestart: () => void;
  /** A deadline has passed, and the guard has begun to stop the tree. */
  readonly onStopping: () => void;
  /** No guard can be started, or the end of the command cannot be known any more. */
  readonly onFailure: () => void;
}

export class GuardClient {
  readonly #parts: GuardClientParts;
  readonly #others: OtherChildren;
  #guard: GuardProcess;
  #startedAt = 0;
  #restartCount = 0;
  /** The command is being stopped or killed, or its end is known. */
  #isEnding = false;
  #isDone = false;
  #failure: string | null = null;
  #deadlines: Deadlines | null = null;
  #configured: Promise<Answer | null>;
  #plan: StartPlan | null = null;
  #command: RunningCommand | null = null;
  /** The processes that a dead guard has left to redlock-run; null: a guard has the command. */
  #tree: ProcessTree | null = null;
  #resolveExited: (exited: Exited) => void = () => {};
  #hasExited = false;
  readonly #exited = new Promise<Exited>((resolve) => {
    this.#resolveExited = (exited) => {
      this.#hasExited = true;
      resolve(exited);
    };
  });
  #pingTimer: NodeJS.Timeout | null = null;
  #lookTimer: NodeJS.Timeout | null = null;

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
      if (configured && guard === this.#guard) {
        if (await this.#ask(this.#newDeadlines(timeLeft), answerMs)) return null;
      }
      await guard.ended;
      await new Promise(setImmediate); // Until another one has been started.
    }
    return this.#failure;
  }

  /** Tells the guard the deadlines of a lease that has been confirmed again. */
  setDeadlines(timeLeft: TimeLeft): void {
    void this.#ask(this.#newDeadlines(timeLeft), answerMs);
  }

  /** Has the guard start the command. To be called once. */
  start(plan: StartPlan): Child {
    this.#plan = plan;
    this.#pingTimer = setInterval(() => {
      void this.#ask({ kind: 'ping' }, answerMs);
      reapOrphans(this.#parts.libc, this.#command?.pid);
    }, pingEveryMs);
    return {
      started: this.#started(plan),
      exited: this.#exited.then(({ exit, readings, leftCount }) => {
        return { exit, leftCount, agoMs: leastMsSince(readings, this.#parts.readingsNow()) };
      }),
      hasNamespace: plan.hasNamespace,
      relay: (signal) => void this.#relay(signal),
      stop: (signal) => void this.#stop(signal),
      countAlive: () => this.#countAlive(),
      kill: () => this.#kill(),
    };
  }

  /**
   * Where a guard dies or freezes before it has started anything, the next one starts the command.
   */
  async #started(plan: StartPlan): Promise<number | undefined> {
    while (this.#failure === null && this.#tree === null && !this.#isEnding) {
      await this.#configured;
      const answer = await this.#ask({ kind: 'start', plan }, answerMs);
      if (answer?.exit) this.#ended(answer.exit, 0);
      if (answer?.pid) this.#command = { ...commandOf(plan), pid: answer.pid };
      if (answer) return answer.pid;
    }
    if (this.#isEnding) this.#ended(neverStarted, 0);
    else if (this.#tree === null) this.#ended(neverStarted, 0);
    return undefined;
  }

  /** Ends the guard: nothing is left to guard. Resolves when it has ended. */
  async done(): Promise<void> {
    this.#isDone = true;
    this.#isEnding = true;
    for (const timer of [this.#pingTimer, this.#lookTimer]) if (timer) clearInterval(timer);
    this.#guard.kill();
    await Promise.race([this.#guard.ended, after(endMs)]);
  }

  async #relay(signal: Signal): Promise<void> {
    if (!(await this.#ask({ kind: 'relay', signal }, answerMs))) this.#tree?.relay(signal);
  }

  /** Stops the tree within half of the grace even if the guard is frozen. */
  async #stop(signal: Signal): Promise<void> {
    this.#isEnding = true;
    const limitMs = Math.min(answerMs, this.#parts.config.graceMs / 2);
    if (!(await this.#ask({ kind: 'stop', signal }, limitMs))) this.#tree?.stop(signal);
  }

  async #countAlive(): Promise<number> {
    const answer = await this.#ask({ kind: 'count' }, answerMs);
    return answer?.count ?? this.#tree?.countAlive() ?? 0;
  }

  /** Kills the tree in time even if the guard is frozen. */
  async #kill(): Promise<readonly number[]> {
    this.#isEnding = true;
    const answer = await this.#ask({ kind: 'kill' }, this.#parts.killAnswerMs);
    return answer?.unkillable ?? (await this.#tree?.kill()) ?? [];
  }

  /** The clocks are read first: see timeLeftOf. */
  #newDeadlines(timeLeft: TimeLeft): Deadlines {
    const readings = this.#parts.readingsNow();
    const [stopInMs, killInMs] = timeLeft();
    this.#deadlines = { kind: 'deadlines', readings, stopInMs, killInMs };
    return this.#deadlines;
  }

  /**
   * Resolves with the answer, or with null where there is no guard to give one: a dead guard has
   * left the tree to redlock-run, or has just died. A guard that does not answer in time is killed.
   */
  #ask(request: GuardRequest, limitMs: number): Promise<Answer | null> {
    const isForTree = ['relay', 'stop', 'count', 'kill'].includes(request.kind);
    if (this.#isDone || this.#failure !== null || (isForTree && this.#tree)) {
      return Promise.resolve(null);
    }
    return this.#guard.ask(request, limitMs);
  }

  /** Resolves when the guard can keep a tree, with its answer. */
  #employ(): Promise<Answer | null> {
    const { config, onStopping, readingsNow } = this.#parts;
    const guard = this.#guard;
    this.#startedAt = readingsNow().monotonic;
    guard.onMessage((message) => {
      if (message.kind === 'exited') this.#resolveExited(message);
      if (message.kind === 'stopping') onStopping();
    });
    guard.ended.then((how) => this.#replace(how));
    return this.#ask({ kind: 'configure', config }, startMs);
  }

  #replace(how: string): void {
    if (this.#isDone) return;
    if (this.#plan && !this.#tree) this.#inherit(this.#plan);
    const ageMs = this.#parts.readingsNow().monotonic - this.#startedAt;
    const wasStable = this.#guard.hasSpoken && ageMs >= stableMs;
    this.#restartCount = wasStable ? 1 : this.#restartCount + 1;
    if (this.#restartCount > mostRestarts) this.#failure = how;
    this.#guard.dropRequests();
    // Where the command has not been started yet, its start reports the failure.
    if (this.#failure !== null) return this.#tree ? this.#parts.onFailure() : undefined;
    this.#guard = new GuardProcess(this.#parts.supply.program);
    this.#configured = this.#employ();
    if (this.#deadlines) void this.#ask(this.#deadlines, startMs);
    if (this.#tree) {
      const others = this.#others.pids();
      const root = { pid: process.pid, startedAt: processEntry(process.pid)?.startedAt ?? 0 };
      // Its members by pid: this process may have died before the new guard has looked once.
      const members = this.#tree.members();
      void this.#ask({ kind: 'adopt', root, members, others }, startMs);
    }
    if (!this.#isEnding) this.#parts.onRestart();
  }

  /** The guard is dead: where the kernel keeps trees, its children are ours now. */
  #inherit(plan: StartPlan): void {
    const command = this.#command;
    if (process.platform !== 'linux') {
      // Without its pid nothing is known of the command.
      if (command === null) return this.#lost(killedByUs, 0);
      this.#tree = new SeenTree({ root: command, command, others: [], callerSession: 0 });
      return this.#lost(killedByUs, this.#tree.countAlive());
    }
    const { libc } = this.#parts;
    const isOther = (pid: number) => this.#others.has(pid);
    const parts = { libc, isOther, isReapedByNode: false };
    const tree = new KeptTree({ ...parts, command: command ?? { ...commandOf(plan), pid: 0 } });
    // A guard that did not answer the start cannot have reaped the command either.
    if (command === null && tree.isEmpty) return;
    if (command === null) tree.commandReaped();
    this.#tree = tree;
    if (this.#hasExited) return;
    // The command's exit status is lost with the guard, or its pid was never known.
    if (!tree.hasCommand || plan.hasNamespace) return this.#lost(killedByUs, tree.countAlive());
    this.#lookTimer = setInterval(() => {
      tree.look();
      const { commandStatus } = tree;
      if (commandStatus !== null) this.#ended(exitOf(commandStatus), tree.countAlive());
    }, lookMs);
  }

  /** The exit of the command cannot be known any more. */
  #lost(exit: ChildExit, leftCount: number): void {
    this.#ended(exit, leftCount);
    this.#parts.onFailure();
  }

  #ended(exit: ChildExit, leftCount: number): void {
    this.#isEnding = true;
    const readings = this.#parts.readingsNow();
    this.#resolveExited({ kind: 'exited', exit, readings, leftCount });
  }
}

const killedByUs: ChildExit = { kind: 'signaled', signal: 'SIGKILL' };
const neverStarted: ChildExit = { kind: 'never-started', reason: 'guard-lost' };

function commandOf({ isForeground, hasNamespace }: StartPlan): Omit<RunningCommand, 'pid'> {
  return { isForeground, hasNamespace };
}

function after(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs).unref());
}
