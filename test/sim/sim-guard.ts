// The guard of a run, a model of src/guard/guard.c: two processes that end the command, each by its
// own clock, and redlock-run's side of their sockets, a model of src/run/guard-client.ts. A message
// is a function that a socket carries. The inner guard starts the command and acts first; the outer
// one acts a moment later, where the inner one does not.

import { guardSlackMsOf } from '../../src/lock/timings.ts';
import type { Child, ReportChild, TimeLeft } from '../../src/run/ports.ts';
import type { ChildExit } from '../../src/run/record.ts';
import type { Options } from './options.ts';
import type { Tree } from './sim-child.ts';
import { type Deadlines, type Guarded, GuardProcess } from './sim-guard-process.ts';
import type { SimProcess } from './sim-process.ts';

export interface GuardOptions {
  readonly graceMs: number;
  readonly slackMs: number;
  /** How much longer its start, and any message, may take at most; 0: never. */
  readonly lateMs: number;
}

export function guardOptionsIn({ graceMs, marginMs, guardLateMs }: Options): GuardOptions {
  return { graceMs, slackMs: guardSlackMsOf(marginMs), lateMs: guardLateMs };
}

/** `onEnd` has to be called whenever a process of the tree has ended. */
export type StartTree = (onEnd: () => void) => Tree;

/** How long a line takes through a socket until it is read. */
const socketMs = 0.5;
const startMs = 5;
/** As in guard.c: how much later the outer guard acts, and how long a guard has by itself. */
const outerDelayMs = 50;
const unguardedGraceMs = 5_000;

export class SimGuard implements Child, Guarded {
  readonly graceMs: number;
  tree: Tree | null = null;
  isStopping = false;
  readonly #slackMs: number;
  readonly #lateMs: number;
  readonly #ward: SimProcess;
  readonly #hear: ReportChild;
  readonly #inner: GuardProcess;
  readonly #outer: GuardProcess;
  #isExitReported = false;
  #isDone = false;
  #isTakenOver = false;
  #hasStarted = false;
  #hasExited = false;
  #isLost = false;
  #isSwept = false;

  constructor(
    ward: SimProcess,
    options: GuardOptions,
    timeLeft: TimeLeft,
    startTree: StartTree,
    hear: ReportChild,
  ) {
    this.graceMs = options.graceMs;
    this.#slackMs = options.slackMs;
    this.#lateMs = options.lateMs;
    this.#ward = ward;
    this.#hear = hear;
    const deadlines = this.#deadlines(timeLeft);
    this.#inner = new GuardProcess(this, `${ward.name}:inner guard`, ward, deadlines, 0);
    this.#outer = new GuardProcess(this, `${ward.name}:outer guard`, ward, deadlines, outerDelayMs);
    for (const one of this.#both) one.process.onDeath(() => this.#died(one));
    ward.onDeath(() => this.#send((one) => one.requestStop(this.graceMs)));
    ward.world.after(startMs + this.#delayMs(), () =>
      this.#inner.process.deliver(() => this.#start(startTree)),
    );
  }

  /** Those that are alive. */
  get processes(): readonly SimProcess[] {
    return this.#both.flatMap(({ process }) => (process.isDead ? [] : [process]));
  }

  get #both(): readonly GuardProcess[] {
    return [this.#inner, this.#outer];
  }

  setDeadlines(timeLeft: TimeLeft): void {
    const deadlines = this.#deadlines(timeLeft);
    this.#send((one) => one.setDeadlines(deadlines));
  }

  /** The commands of these worlds mind the stop signal only. */
  relay(signal: string): void {
    if (signal === 'SIGTERM') this.#send((one) => one === this.#inner && this.tree?.stop());
  }

  stop(): void {
    this.#send((one) => one.requestStop(this.graceMs + this.#slackMs));
  }

  kill(): void {
    this.#send((one) => one.requestStop(0));
  }

  /** No run of these worlds has --keep-background. */
  keep(): void {
    throw new Error('not simulated');
  }

  reportStopping(from: GuardProcess): void {
    this.#report(from, () => this.#hear({ kind: 'stopping', isStarved: false }));
  }

  reportExit(from: GuardProcess): void {
    const exit = this.tree?.exit ?? null;
    if (this.#isExitReported || exit === null) return;
    this.#isExitReported = true;
    const { machine } = this.#ward;
    const [leftCount, at] = [this.tree?.aliveCount ?? 0, machine.monotonic()];
    this.#report(from, () => {
      this.#hearExit(exit, leftCount, machine.monotonic() - at);
    });
  }

  end(from: GuardProcess): void {
    this.reportExit(from);
    this.#report(from, () => this.#hearEnd());
    this.#finish();
  }

  takeOver(): void {
    if (!this.#inner.process.isPaused) return;
    this.#isTakenOver = true;
    this.#inner.process.die();
  }

  #start(startTree: StartTree): void {
    if (this.#inner.isStopOverdue) {
      const exit: ChildExit = { kind: 'never-started', reason: 'suspended' };
      this.#report(this.#inner, () => {
        this.#hearExit(exit);
        this.#hearEnd();
      });
      return this.#finish();
    }
    const lookAtAll = () => {
      for (const one of this.#both) this.#ward.world.after(0, () => one.wakeUp());
    };
    this.tree = startTree(lookAtAll);
    this.#report(this.#inner, () => this.#hearStart());
    lookAtAll();
  }

  #finish(): void {
    this.#isDone = true;
    for (const { process } of this.#both) process.die();
  }

  #died(dead: GuardProcess): void {
    if (this.#isDone) return;
    const other = dead === this.#inner ? this.#outer : this.#inner;
    const graceMs = this.#isTakenOver ? 0 : Math.min(this.graceMs, unguardedGraceMs);
    other.isAlone = true;
    this.#ward.world.after(0, () => {
      other.receive(() => {
        if (!this.#isTakenOver) this.#report(other, () => this.#hearLoss());
        other.requestStop(graceMs);
      });
    });
  }

  #deadlines(timeLeft: TimeLeft): Deadlines {
    const from = this.#ward.machine.bootNow + this.#slackMs;
    const [stopInMs, killInMs] = timeLeft();
    return [from + stopInMs, from + killInMs];
  }

  #hearStart(): void {
    this.#hasStarted = true;
    this.#hear({ kind: 'started', pid: 1 });
  }

  #hearExit(exit: ChildExit, leftCount = 0, agoMs = 0): void {
    if (this.#hasExited) return;
    this.#hasExited = true;
    this.#hear({ kind: 'exited', exit, leftCount, agoMs });
  }

  #hearLoss(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    if (this.#hasStarted || this.#hasExited) this.#hear({ kind: 'guard-lost' });
    else this.#hearExit({ kind: 'unknown-start' }, 1);
  }

  #hearEnd(): void {
    if (this.#isSwept) return;
    this.#isSwept = true;
    this.#hearExit({ kind: 'unknown-exit' });
    this.#hear({ kind: 'swept', unkillable: [] });
  }

  #send(message: (to: GuardProcess) => void): void {
    for (const one of this.#both) {
      one.sentAt = this.#arrivalAfter(one.sentAt);
      this.#ward.world.at(one.sentAt, () => one.receive(() => message(one)));
    }
  }

  #report(from: GuardProcess, hear: () => void): void {
    from.reportedAt = this.#arrivalAfter(from.reportedAt);
    this.#ward.world.at(from.reportedAt, () => this.#ward.deliver(hear));
  }

  /** When a line arrives that is sent now: a socket keeps the order. */
  #arrivalAfter(lastAt: number): number {
    const { world } = this.#ward;
    return Math.max(lastAt, world.now + world.random.around(socketMs) + this.#delayMs());
  }

  /** On a crowded machine. Draws nothing where no guard is late. */
  #delayMs(): number {
    const { random } = this.#ward.world;
    return this.#lateMs > 0 && random.chance(0.3) ? random.between(0, this.#lateMs) : 0;
  }
}
