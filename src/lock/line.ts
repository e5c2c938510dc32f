// Our place in the queue, as far as this side is concerned: ears on the masters, and pauses that end when it is our turn. The
// queue itself is kept by the masters. The surprise: calls come from each master by itself, a little apart, and whoever asks
// all of them at the first one finds the others not yet free; so each is asked when it has called itself, or soon after the first.

import type { Claim, Clock, Ear, Master } from './ports.ts';
import { quorumOf } from './validity.ts';

/** How long after the first call the others are waited for. */
const togetherMs = 10;

export class Line {
  readonly #clock: Clock;
  readonly #quorum: number;
  readonly #ears = new Set<Ear>();
  /** Who has called and was not asked since. */
  readonly #callers = new Set<Master>();
  /** Who has called since the present turns began. */
  #turned = new Set<Master>();
  /** Told of every call. */
  readonly #onCall = new Set<() => void>();
  #isClosed = false;

  private constructor(clock: Clock, quorum: number) {
    this.#clock = clock;
    this.#quorum = quorum;
  }

  /** Resolves when a quorum of masters is being listened to, or after `atMostMs`; a master that fails is left out. */
  static async join(masters: readonly Master[], claim: Claim, clock: Clock, atMostMs: number): Promise<Line> {
    const line = new Line(clock, quorumOf(masters.length));
    const enough = new AbortController();
    for (const master of masters) {
      master
        .listen(claim, () => line.#hear(master))
        .then((ear) => {
          if ('kind' in ear) return;
          if (line.#isClosed) return ear.close();
          line.#ears.add(ear);
          if (line.#ears.size >= line.#quorum) enough.abort();
        });
    }
    await clock.sleep(atMostMs, enough.signal);
    return line;
  }

  /** Somebody has called since the calls were last forgotten. */
  get isCalled(): boolean {
    return this.#callers.size > 0;
  }

  /** Calls that came before do not count any more. */
  forgetCalls(): void {
    this.#callers.clear();
  }

  /** Resolves when somebody has called, after `atMostMs`, or when `aborted`. */
  called(atMostMs: number, aborted: AbortSignal): Promise<void> {
    return this.#until(() => this.isCalled, atMostMs, aborted);
  }

  /** The same, but waits for all to call, as long as the first is worth waiting for. */
  async pause(atMostMs: number, aborted: AbortSignal): Promise<void> {
    await this.called(atMostMs, aborted);
    if (this.isCalled) await this.#until(() => this.#callers.size >= this.#ears.size, togetherMs, aborted);
  }

  /**
   * When it is our turn at each of the masters: at once, unless somebody has called; then when that master has called as well, or all
   * have whom we hear, or soon. What it has called until its turn counts no more.
   */
  turns(): ((master: Master) => Promise<void>) | null {
    if (!this.isCalled) return null;
    const turned = new Set(this.#callers);
    this.#turned = turned;
    return async (master) => {
      await this.#until(() => turned.has(master) || turned.size >= this.#ears.size, togetherMs);
      this.#callers.delete(master);
    };
  }

  close(): void {
    this.#isClosed = true;
    for (const ear of this.#ears) ear.close();
  }

  #hear(master: Master): void {
    this.#callers.add(master);
    this.#turned.add(master);
    for (const look of this.#onCall) look();
  }

  async #until(isDue: () => boolean, atMostMs: number, aborted?: AbortSignal): Promise<void> {
    if (isDue()) return;
    const due = new AbortController();
    const look = () => {
      if (isDue() || aborted?.aborted) due.abort();
    };
    this.#onCall.add(look);
    aborted?.addEventListener('abort', look, { once: true });
    await this.#clock.sleep(atMostMs, due.signal);
    aborted?.removeEventListener('abort', look);
    this.#onCall.delete(look);
  }
}
