// Our place in the queue, as far as this side is concerned: ears on the masters, and pauses that end when it is our turn. The
// queue itself is kept by the masters. The surprise: calls come from each master by itself, a little apart, and whoever runs
// at the first one finds the other masters not yet free; so a pause ends when all have called, or soon after the first.

import type { Claim, Clock, Ear, Master } from './ports.ts';
import { quorumOf } from './validity.ts';

/** How long after the first call the others are waited for. */
const togetherMs = 10;

export class Line {
  readonly #clock: Clock;
  readonly #quorum: number;
  readonly #ears = new Set<Ear>();
  readonly #callers = new Set<Master>();
  #isClosed = false;
  #onCall: () => void = () => {};

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

  /** Calls that came before do not count any more: an attempt begins, and will see for itself. */
  forgetCalls(): void {
    this.#callers.clear();
  }

  /** Resolves when it is our turn, after `atMostMs`, or when `aborted`. */
  async pause(atMostMs: number, aborted: AbortSignal): Promise<void> {
    const called = new AbortController();
    const isOurTurn = () => this.#callers.size >= this.#ears.size;
    const wake = () => called.abort('called');
    aborted.addEventListener('abort', wake, { once: true, signal: called.signal });
    let isGathering = false;
    this.#onCall = () => {
      if (isOurTurn()) return wake();
      // One master may call many times.
      if (!isGathering) this.#clock.sleep(togetherMs, called.signal).then(wake);
      isGathering = true;
    };
    if (this.#callers.size > 0) this.#onCall();
    await this.#clock.sleep(atMostMs, called.signal);
    called.abort('called');
    this.#onCall = () => {};
  }

  close(): void {
    this.#isClosed = true;
    for (const ear of this.#ears) ear.close();
  }

  #hear(master: Master): void {
    this.#callers.add(master);
    this.#onCall();
  }
}
