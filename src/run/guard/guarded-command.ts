// The command of a run with the one guard that starts it. The start is sent once: from then on no
// other guard takes part, and what this one has said counts whenever it is read. When it has died
// or stands still, redlock-run ends what it has left.
// *Note:* a request to stop or to kill is dropped by the guard after an instant. From then on
// redlock-run signals the processes itself, so no answer is ever waited for.

import { type Child, type Ended, exitOf } from '../child.ts';
import type { GuardEnd } from '../ports.ts';
import { onEndedChild } from '../processes/ended-children.ts';
import { KeptTree } from '../processes/kept-tree.ts';
import { killingMsOf } from '../processes/kill-all.ts';
import type { Libc } from '../processes/libc.ts';
import { childrenHere, type OtherChildren, reapOrphans } from '../processes/own-children.ts';
import type { ProcessTree } from '../processes/process-tree.ts';
import { SeenTree } from '../processes/seen-tree.ts';
import type { ChildExit, Signal } from '../run-result.ts';
import { after, soon } from './bounded-wait.ts';
import type { GuardProcess } from './guard-process.ts';
import {
  type Answer,
  type Deadlines,
  type Exited,
  leastMsSince,
  mostMsSince,
  type Readings,
  type StartPlan,
} from './protocol.ts';
import { GuardWatch } from './watch.ts';

/** The shares of grace and margin after which redlock-run no longer waits for the guard. */
const shareOfTime = 10;
const leastWithinMs = 50;
/** A count that is not answered for so long is made here. */
const countMs = 2_000;
/** How long a guard may take to end by SIGKILL before it counts as one that does not. */
const endMs = 1_000;
/** The interval of looks at a command that redlock-run ends in the place of its guard. */
const lookMs = 50;
/** So many looks at no process in a row: a living guard would have told of the end. */
const emptyLookCount = 5;

export interface GuardedParts {
  readonly guard: GuardProcess;
  readonly plan: StartPlan;
  readonly graceMs: number;
  readonly marginMs: number;
  readonly libc: Libc;
  readonly others: OtherChildren;
  readonly readingsNow: () => Readings;
  /** The guard was lost while the command ran, or what it has left behind. */
  readonly onLost: (how: GuardEnd) => void;
}

export class GuardedCommand implements Child {
  readonly started: Promise<number | undefined>;
  readonly exited: Promise<Ended>;
  readonly hasNamespace: boolean;
  readonly #parts: GuardedParts;
  readonly #watch: GuardWatch;
  readonly #endReaping: () => void;
  #resolveStarted: (pid: number | undefined) => void = () => {};
  #resolveExited: (exited: Exited) => void = () => {};
  #resolveKilled: (unkillable: readonly number[]) => void = () => {};
  readonly #killed: Promise<readonly number[]>;
  #pid: number | null = null;
  #isStarting = true;
  #hasExited = false;
  /** The last deadlines that the guard has confirmed. */
  #confirmed: Deadlines | null = null;
  /** Whether the guard is asked no more: it is lost and the tree is ours, or the run is over. */
  #isLeft = false;
  #how: GuardEnd = 'died';
  /** Whether the stop signal was sent from here, where it is known now which process had it. */
  #isStoppedHere = false;
  #tree: ProcessTree | null = null;
  #looking: NodeJS.Timeout | null = null;

  constructor(parts: GuardedParts) {
    this.#parts = parts;
    const { guard, plan, readingsNow } = parts;
    this.hasNamespace = plan.hasNamespace;
    this.started = new Promise((resolve) => {
      this.#resolveStarted = resolve;
    });
    this.#killed = new Promise((resolve) => {
      this.#resolveKilled = resolve;
    });
    this.exited = new Promise<Exited>((resolve) => {
      this.#resolveExited = resolve;
    }).then(({ exit, readings, leftCount }) => {
      return { exit, leftCount, agoMs: leastMsSince(readings, readingsNow()) };
    });
    this.#watch = new GuardWatch({
      guard,
      isStarting: () => this.#isStarting,
      isDeadlineOver: () => this.#isDeadlineOver(),
      onLook: () => this.#reap(),
      onSilent: () => void this.#silent(),
    });
    this.#endReaping = onEndedChild(() => this.#reap());
    const answer = guard.ask({ kind: 'start', plan });
    void answer.then((given) => this.#answered(given));
    void guard.ended.then(() => this.#leave());
  }

  /** What the guard says that is no answer. */
  hear(message: Exited | { kind: 'killed'; unkillable: readonly number[] }): void {
    if (message.kind === 'killed') return this.#resolveKilled(message.unkillable);
    this.#hasExited = true;
    this.#resolveExited(message);
  }

  setDeadlines(deadlines: Deadlines): void {
    this.#watch.expectAnswers();
    const answer = this.#parts.guard.ask(deadlines);
    void answer.then((confirmed) => {
      if (confirmed) this.#confirmed = deadlines;
    });
  }

  /** The deadlines under which the command is started. */
  confirmed(deadlines: Deadlines): void {
    this.#confirmed = deadlines;
  }

  /** The run is over. */
  end(): void {
    this.#isLeft = true;
    this.#watch.end();
    this.#endReaping();
    if (this.#looking) clearInterval(this.#looking);
  }

  relay(signal: Signal): void {
    if (this.#isLeft) return this.#left().relay(signal);
    void this.#parts.guard.ask({ kind: 'relay', signal });
  }

  stop(signal: Signal): void {
    void this.#stop(signal);
  }

  async #stop(signal: Signal): Promise<void> {
    const { guard, graceMs } = this.#parts;
    if (!this.#isLeft && !this.#isStoppedHere) {
      const until = this.#until(graceMs);
      const answer = await soon(guard.ask({ kind: 'stop', signal, until }), until.withinMs);
      if (answer && !answer.isDropped) return;
      this.#isStoppedHere = true;
      this.#actHere();
    }
    const leftMs = this.#msToKill();
    if (leftMs > 0) this.#left().stop(signal, Math.min(leftMs, graceMs));
    else void this.#left().kill();
    if (!this.#isLeft) void guard.ask({ kind: 'stopped' });
  }

  /** Until so many processes have to be killed, for the sake of the lock. */
  #msToKill(): number {
    if (this.#confirmed === null) return Number.POSITIVE_INFINITY;
    const { readings, killInMs } = this.#confirmed;
    const leftMs = killInMs - mostMsSince(readings, this.#parts.readingsNow());
    return leftMs - killingMsOf(this.#left().size());
  }

  async countAlive(): Promise<number> {
    const { guard } = this.#parts;
    const answer = this.#isLeft ? null : await soon(guard.ask({ kind: 'count' }), countMs);
    return answer?.count ?? this.#left().countAlive();
  }

  async kill(): Promise<readonly number[]> {
    const { guard, marginMs } = this.#parts;
    if (!this.#isLeft) {
      const until = this.#until(marginMs);
      const answer = await soon(guard.ask({ kind: 'kill', until }), until.withinMs);
      const isKilling = answer && !answer.isDropped;
      const killed = Promise.race([this.#killed, guard.ended.then(() => null)]);
      const unkillable = isKilling ? await soon(killed, marginMs / 2) : null;
      if (unkillable) return unkillable;
      this.#actHere();
    }
    return await this.#left().kill();
  }

  #until(ofMs: number): { readings: Readings; withinMs: number } {
    const withinMs = Math.max(leastWithinMs, ofMs / shareOfTime);
    return { readings: this.#parts.readingsNow(), withinMs };
  }

  /** Reaps the orphans that are ours as the first process of a container, and notes the others. */
  #reap(): void {
    if (this.#isLeft) return;
    const { libc, others } = this.#parts;
    try {
      const children = childrenHere();
      // After they were listed: until then the guard was there to take what is the command's.
      if (this.#hasGuard) others.note(children);
      reapOrphans(libc, children, this.#pid ?? undefined);
    } catch {
      // Descriptors may have run out, for example. The next look follows.
    }
  }

  get #hasGuard(): boolean {
    return !this.#isLeft && !['Z', 'X'].includes(this.#parts.guard.state);
  }

  #isDeadlineOver(): boolean {
    if (this.#confirmed === null) return false;
    const { readings, stopInMs } = this.#confirmed;
    return mostMsSince(readings, this.#parts.readingsNow()) >= stopInMs;
  }

  #answered(answer: Answer | null): void {
    if (answer === null) return; // The guard is lost: see #leave.
    this.#isStarting = false;
    this.#pid = answer.pid ?? null;
    if (answer.exit) this.#ended(answer.exit, 0);
    this.#resolveStarted(answer.pid);
  }

  /** The guard stands still: it is ended, if it can be. */
  async #silent(): Promise<void> {
    const { guard } = this.#parts;
    this.#how = 'silent';
    guard.kill();
    // One that goes on later would start the command.
    if (this.#isStarting) await guard.ended;
    else await Promise.race([guard.ended, after(endMs)]);
    this.#leave();
  }

  /** The guard is lost, and has left the command to us. */
  #leave(): void {
    if (this.#isLeft) return;
    this.#isLeft = true;
    this.#watch.end();
    const tree = this.#left();
    this.#parts.guard.dropRequests();
    const count = tree.countAlive();
    if (this.#hasExited) {
      // What the command has left behind is ended without a second process from now on.
      if (count > 0) this.#parts.onLost(this.#how);
      return;
    }
    if (this.#isStarting) {
      this.#resolveStarted(undefined);
      return this.#ended({ kind: 'unknown-start', isAlive: count > 0 }, count);
    }
    const status = tree instanceof KeptTree && !this.hasNamespace ? tree.commandStatus : null;
    // It had ended by then: nothing was lost with the guard.
    if (status !== null && count === 0) return this.#ended(exitOf(status), 0);
    this.#parts.onLost(this.#how);
    this.#ended({ kind: 'unknown-exit' }, count);
  }

  /** From now on the end of the command is looked for here, even if the guard tells of it. */
  #actHere(): void {
    const { guard } = this.#parts;
    let emptyCount = 0;
    // Nothing runs that a guard has not started yet, and now it must not be started any more.
    if (this.#isStarting) return guard.kill();
    if (this.#hasExited) return;
    this.#looking ??= setInterval(() => {
      emptyCount = this.#left().seemsEnded() ? emptyCount + 1 : 0;
      if (emptyCount >= emptyLookCount) this.#ended({ kind: 'unknown-exit' }, 0);
    }, lookMs);
  }

  /** The processes of the command as far as we see them without the guard. */
  #left(): ProcessTree {
    this.#tree ??= this.#newTree();
    return this.#tree;
  }

  #newTree(): ProcessTree {
    const { guard, plan, libc, others } = this.#parts;
    const { isForeground, hasNamespace } = plan;
    const command = { isForeground, hasNamespace, pid: this.#pid ?? 0 };
    if (process.platform !== 'linux') return new SeenTree(command);
    const isOther = (pid: number) => others.has(pid);
    const kept = new KeptTree({
      libc,
      command,
      isOther,
      isReapedByNode: false,
      guard: guard.id,
    });
    if (this.#pid === null) kept.commandReaped();
    return kept;
  }

  #ended(exit: ChildExit, leftCount: number): void {
    if (this.#hasExited) return;
    this.#hasExited = true;
    if (this.#looking) clearInterval(this.#looking);
    const readings = this.#parts.readingsNow();
    this.#resolveExited({ kind: 'exited', exit, readings, leftCount });
  }
}
