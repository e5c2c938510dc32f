// The guard's decisions: what to do when redlock-run dies or freezes. The guard acts at the
// deadlines unless redlock-run moves them, so that every failure of redlock-run has the same
// effect.

import type { Clock } from '../../lock/ports.ts';
import { killingMsOf } from '../processes/kill-all.ts';
import type { Signal } from '../run-result.ts';

export interface GuardSettings {
  readonly stopSignal: Signal;
  readonly graceMs: number;
}

/** The processes of the command as the guard uses them. */
export interface Guarded {
  /** Ends in time for SIGKILL, which is due after `withinMs`. */
  stop(signal: Signal, withinMs: number): void;
  kill(): Promise<unknown>;
  isEmpty(): boolean;
  /** About how many there are. */
  size(): number;
}

/** The interval between two counts of processes that were sent the stop signal. */
const lookMs = 100;

/** A deadline that is reached so late was slept over. */
const lateMs = 20;
/** So often, and for so long each time, it waits for what lies in the pipe. */
const readCount = 10;
const readMs = 20;

export class Guard {
  readonly #settings: GuardSettings;
  readonly #guarded: Guarded;
  readonly #clock: Clock;
  readonly #onStopping: () => void;
  readonly #finished = new AbortController();
  readonly #abandoned = new AbortController();
  #stopAt = Number.NEGATIVE_INFINITY;
  #killAt = Number.NEGATIVE_INFINITY;
  #hasBegun = false;
  /** SIGKILL comes so much before its deadline, by the number of processes at the last stop. */
  #killingMs = 0;

  constructor(settings: GuardSettings, guarded: Guarded, clock: Clock, onStopping: () => void) {
    this.#settings = settings;
    this.#guarded = guarded;
    this.#clock = clock;
    this.#onStopping = onStopping;
  }

  /** New deadlines, on the clock. The first ones come before the command is started. */
  setDeadlines(stopAt: number, killAt: number): void {
    this.#stopAt = stopAt;
    this.#killAt = killAt;
  }

  /** Whether a command may be started now: it has a deadline that has not passed. */
  get mayStart(): boolean {
    return this.#clock.now() < this.#stopAt;
  }

  /** Begins to watch the deadlines: the command is about to be started. */
  begin(): void {
    this.#hasBegun = true;
    this.#watch();
  }

  /** Ends the command: redlock-run has died before its end. Resolves when no process is left. */
  async abandon(): Promise<void> {
    if (this.#finished.signal.aborted || !this.#hasBegun) return;
    this.#abandoned.abort();
    await this.#end();
  }

  /**
   * Sends the signal to all processes, unless there are so many that they have to be killed now:
   * then it returns false.
   */
  stop(signal: Signal): boolean {
    this.#killingMs = killingMsOf(this.#guarded.size());
    const leftMs = this.#killAt - this.#killingMs - this.#clock.now();
    if (leftMs > 0) this.#guarded.stop(signal, Math.min(leftMs, this.#settings.graceMs));
    return leftMs > 0;
  }

  /** The run is over: nothing is stopped or killed any more. */
  finish(): void {
    this.#finished.abort();
  }

  async #watch(): Promise<void> {
    const isOver = () =>
      this.#clock.now() >= this.#stopAt ||
      this.#finished.signal.aborted ||
      this.#abandoned.signal.aborted;
    do {
      await this.#reach(() => this.#stopAt, Number.POSITIVE_INFINITY, this.#abandoned.signal);
      await this.#readLate();
    } while (!isOver());
    if (this.#finished.signal.aborted || this.#abandoned.signal.aborted) return;
    this.#onStopping();
    await this.#end();
  }

  /**
   * Where this process did not run for a while, later deadlines lie in its pipe. A thread of its
   * own reads that, and needs its turns on a crowded machine, but never beyond the instant of
   * SIGKILL.
   */
  async #readLate(): Promise<void> {
    const isLate = () => this.#clock.now() > this.#stopAt + lateMs;
    for (let count = 0; count < readCount && isLate(); count += 1) {
      await this.#clock.sleep(readMs);
      if (this.#clock.now() >= this.#killAt) return;
    }
  }

  async #end(): Promise<void> {
    const graceEndsAt = this.#clock.now() + this.#settings.graceMs;
    if (this.stop(this.#settings.stopSignal)) {
      const killAt = () => Math.min(graceEndsAt, this.#killAt - this.#killingMs);
      await this.#reach(() => (this.#guarded.isEmpty() ? 0 : killAt()), lookMs);
    }
    if (this.#finished.signal.aborted) return;
    await this.#guarded.kill();
  }

  /** Resolves at the instant, which is computed again at least every `everyMs`, or when ended. */
  async #reach(instantOf: () => number, everyMs: number, cancelled?: AbortSignal): Promise<void> {
    const finished = this.#finished.signal;
    const ended = cancelled ? AbortSignal.any([cancelled, finished]) : finished;
    const leftMs = () => instantOf() - this.#clock.now();
    for (let ms = leftMs(); ms > 0 && !ended.aborted; ms = leftMs()) {
      await this.#clock.sleep(Math.min(ms, everyMs), ended);
    }
  }
}
