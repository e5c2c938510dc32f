// One of the two guard processes of a run: its state, and the loop that acts on it, a model of the
// pure part and the loop of src/guard/guard.c. What redlock-run hears of it is in sim-guard.ts.

import type { Scheduled } from './event-heap.ts';
import type { Tree } from './sim-child.ts';
import { SimProcess } from './sim-process.ts';

/** What both guards share, and what they can do beside stopping and killing the tree. */
export interface Guarded {
  /** null: the command has not been started. */
  readonly tree: Tree | null;
  readonly graceMs: number;
  /** One of them has begun to stop the tree. */
  isStopping: boolean;
  reportStopping(from: GuardProcess): void;
  /** Reports how the command has ended, once, if it has. */
  reportExit(from: GuardProcess): void;
  /** No process of the tree is left. */
  end(from: GuardProcess): void;
  /** What the outer guard does about an inner one that kills nothing. */
  takeOver(): void;
}

/** In ms of the machine's boot time, which counts sleep. */
export type Deadlines = readonly [stopAt: number, killAt: number];

type Phase = 'watching' | 'stopping' | 'killing';

/** How often the outer guard looks whether the inner one kills. */
const takeOverMs = 10;
/** Below the precision of every computed time. */
const grainMs = 1e-6;
const never = Number.POSITIVE_INFINITY;

export class GuardProcess {
  readonly process: SimProcess;
  /** The other one has died. */
  isAlone = false;
  /** When the last line to it arrives, and the last one from it. */
  sentAt = 0;
  reportedAt = 0;
  readonly #guard: Guarded;
  readonly #outerDelayMs: number;
  /** What has arrived and was not read yet. */
  readonly #inbox: (() => void)[] = [];
  #phase: Phase = 'watching';
  #stopAt: number;
  #killAt: number;
  #stopBy = never;
  #killBy = never;
  #alarm: Scheduled | null = null;

  constructor(
    guard: Guarded,
    name: string,
    { machine }: SimProcess,
    [stopAt, killAt]: Deadlines,
    delayMs: number,
  ) {
    this.process = new SimProcess(machine, name);
    this.#guard = guard;
    this.#stopAt = stopAt;
    this.#killAt = killAt;
    this.#outerDelayMs = delayMs;
  }

  get isStopOverdue(): boolean {
    return this.process.machine.bootNow >= this.#stopAt;
  }

  setDeadlines([stopAt, killAt]: Deadlines): void {
    this.#stopAt = stopAt;
    this.#killAt = killAt;
  }

  /** Requests never make anything later. */
  requestStop(graceMs: number): void {
    const now = this.process.machine.bootNow;
    this.#stopBy = Math.min(this.#stopBy, now);
    this.#killBy = Math.min(this.#killBy, now + graceMs);
  }

  receive(message: () => void): void {
    this.#inbox.push(message);
    this.wakeUp();
  }

  /** It reads what has arrived before it decides anything, as soon as it runs. */
  wakeUp(): void {
    this.process.deliver(() => this.#turn());
  }

  #turn(): void {
    if (this.#isBeforeStart) return;
    for (const read of this.#inbox.splice(0)) read();
    const guard = this.#guard;
    const { tree } = guard;
    if (this.#delayMs === 0) {
      if ((tree?.aliveCount ?? 0) === 0) return guard.end(this);
      guard.reportExit(this);
    }
    const due = this.#phaseDue();
    if (due !== this.#phase && this.#phase !== 'killing' && due !== 'watching') this.#enter(due);
    if (this.#phase === 'killing') this.#kill();
    this.#setAlarm();
  }

  /** An outer guard whose inner one has died before the start has nothing to wait for. */
  get #isBeforeStart(): boolean {
    return this.#guard.tree === null && !(this.isAlone && this.#outerDelayMs > 0);
  }

  get #delayMs(): number {
    return this.isAlone ? 0 : this.#outerDelayMs;
  }

  #phaseDue(): Phase {
    const now = this.process.machine.bootNow - this.#delayMs + grainMs;
    if (now >= Math.min(this.#killAt, this.#killBy)) return 'killing';
    return now >= Math.min(this.#stopAt, this.#stopBy) ? 'stopping' : 'watching';
  }

  #enter(phase: 'stopping' | 'killing'): void {
    const now = this.process.machine.bootNow;
    const isRequested = now - this.#delayMs + grainMs >= this.#stopBy;
    const isFirst = !this.#guard.isStopping;
    this.#guard.isStopping = true;
    if (isFirst && !isRequested) this.#guard.reportStopping(this);
    this.#phase = phase;
    if (this.#killBy === never) this.#killBy = now + this.#guard.graceMs;
    if (phase === 'stopping' && isFirst) this.#guard.tree?.stop();
    if (phase === 'killing') this.process.world.mark('child killed by the guard');
  }

  #kill(): void {
    if (this.#delayMs > 0) this.#guard.takeOver();
    else this.#guard.tree?.kill();
  }

  #setAlarm(): void {
    const { machine, world } = this.process;
    const now = machine.bootNow;
    const at = {
      watching: Math.min(this.#stopAt, this.#stopBy) + this.#delayMs,
      stopping: Math.min(this.#killAt, this.#killBy) + this.#delayMs,
      killing: this.#delayMs > 0 ? now + takeOverMs : never,
    }[this.#phase];
    if (this.#alarm) this.#alarm.isCancelled = true;
    this.#alarm = at === never ? null : world.after((at - now) / machine.rate, () => this.wakeUp());
  }
}
