// The guard's decisions: what to do when redlock-run dies or freezes. It shares nothing with redlock-run but the code of the
// sweep. The surprise: it is never asked to stop anything. It acts when it is *not* told to wait any longer, so that whatever
// can happen to redlock-run comes to the same thing.

import type { Clock } from '../../lock/ports.ts';
import type { Signal } from '../supervisor.ts';

export interface GuardSettings {
  readonly stopSignal: Signal;
  readonly graceMs: number;
}

/** The tree as the guard uses it. */
export interface Guarded {
  stop(signal: Signal): void;
  kill(): Promise<unknown>;
  /** How many are alive; where it is known, nobody is waited for in vain. */
  aliveCount?(): number;
}

/** Between two looks at those who have been told to end. */
const lookMs = 100;

export class Guard {
  readonly #settings: GuardSettings;
  readonly #guarded: Guarded;
  readonly #clock: Clock;
  readonly #onStopping: () => void;
  readonly #finished = new AbortController();
  readonly #abandoned = new AbortController();
  #stopAt = Number.POSITIVE_INFINITY;
  #killAt = Number.POSITIVE_INFINITY;
  #isArmed = false;
  #hasFound = false;
  #hasKilled = false;

  constructor(settings: GuardSettings, guarded: Guarded, clock: Clock, onStopping: () => void) {
    this.#settings = settings;
    this.#guarded = guarded;
    this.#clock = clock;
    this.#onStopping = onStopping;
  }

  /** New deadlines; the first ones come before the command is started. */
  arm(stopAt: number, killAt: number): void {
    this.#stopAt = stopAt;
    this.#killAt = killAt;
    if (!this.#isArmed) {
      this.#isArmed = true;
      this.#watch();
    }
  }

  /** The command has been started, or its process has. If redlock-run was frozen until now, and all seemed over, it is killed at once. */
  async found(): Promise<void> {
    this.#hasFound = true;
    if (this.#hasKilled && !this.#finished.signal.aborted) await this.#guarded.kill();
  }

  /** redlock-run is gone without having said that all is over. Resolves when nothing is left to guard. */
  async abandon(): Promise<void> {
    if (this.#finished.signal.aborted) return;
    if (!this.#isArmed) {
      // A process that was to become the command ends by itself, unless somebody has stopped it.
      if (this.#hasFound) await this.#guarded.kill();
      return;
    }
    this.#abandoned.abort();
    await this.#end();
  }

  /** All is over: nothing is stopped or killed any more. */
  finish(): void {
    this.#finished.abort();
  }

  async #watch(): Promise<void> {
    await this.#reach(() => this.#stopAt, Number.POSITIVE_INFINITY, this.#abandoned.signal);
    if (this.#finished.signal.aborted || this.#abandoned.signal.aborted) return;
    this.#onStopping();
    await this.#end();
  }

  async #end(): Promise<void> {
    const killAt = this.#clock.now() + this.#settings.graceMs;
    try {
      this.#guarded.stop(this.#settings.stopSignal);
    } catch {
      // The tree could not be looked at (out of file descriptors, say). Killing comes next, and does not give up.
    }
    await this.#reach(() => (this.#guarded.aliveCount?.() === 0 ? 0 : Math.min(killAt, this.#killAt)), lookMs);
    if (this.#finished.signal.aborted) return;
    await this.#guarded.kill();
    this.#hasKilled = true;
  }

  /** The instant is asked for again at least every `everyMs`. */
  async #reach(instantOf: () => number, everyMs: number, cancelled?: AbortSignal): Promise<void> {
    const isOver = () => this.#finished.signal.aborted || cancelled?.aborted;
    const ended = cancelled ? AbortSignal.any([cancelled, this.#finished.signal]) : this.#finished.signal;
    for (
      let leftMs = instantOf() - this.#clock.now();
      leftMs > 0 && !isOver();
      leftMs = instantOf() - this.#clock.now()
    ) {
      await this.#clock.sleep(Math.min(leftMs, everyMs), ended);
    }
  }
}
