// Our position in the wait queue, as far as this side is concerned: a subscription on each master,
// and pauses that end when the masters call. The queue itself is kept by the masters. Note: each
// master calls when the release has reached it; a waiter that asks all of them at the first call
// finds the others not free yet, so a pause goes on until all have called, or a little longer.

import type { Clock, Master, Subscription } from './ports.ts';
import { quorumOf } from './quorum.ts';
import type { Claim } from './types.ts';

/** How long after the first call the others are waited for. */
const togetherMs = 10;

export class Subscriptions {
  readonly #clock: Clock;
  readonly #quorum: number;
  readonly #subscriptions = new Set<Subscription>();
  /** The masters whose calls count: see forgetCalls. */
  readonly #callers = new Set<Master>();
  /** Told of every call. */
  readonly #onWakeUp = new Set<() => void>();
  #isClosed = false;

  private constructor(clock: Clock, quorum: number) {
    this.#clock = clock;
    this.#quorum = quorum;
  }

  /** Resolves when a quorum of masters is being listened to, or after `atMostMs`; a master that fails is left out. */
  static async join(
    masters: readonly Master[],
    claim: Claim,
    clock: Clock,
    atMostMs: number,
  ): Promise<Subscriptions> {
    const subscriptions = new Subscriptions(clock, quorumOf(masters.length));
    const enough = new AbortController();
    for (const master of masters) {
      master
        .subscribe(claim, () => subscriptions.#hear(master))
        .then((subscription) => {
          if ('kind' in subscription) return;
          if (subscriptions.#isClosed) return subscription.close();
          subscriptions.#subscriptions.add(subscription);
          if (subscriptions.#subscriptions.size >= subscriptions.#quorum) enough.abort();
        });
    }
    await clock.sleep(atMostMs, enough.signal);
    return subscriptions;
  }

  /** A master has called since the calls were last forgotten. */
  get isWoken(): boolean {
    return this.#callers.size > 0;
  }

  /** Calls that came before do not count any more. */
  forgetWakeUps(): void {
    this.#callers.clear();
  }

  /**
   * Resolves when all masters have called, `togetherMs` after the first call, after `atMostMs`
   * without a call, or when `aborted`.
   */
  async pause(atMostMs: number, aborted: AbortSignal): Promise<void> {
    await this.#until(() => this.isWoken, atMostMs, aborted);
    const haveAllCalled = () => this.#callers.size >= this.#subscriptions.size;
    if (this.isWoken) await this.#until(haveAllCalled, togetherMs, aborted);
  }

  close(): void {
    this.#isClosed = true;
    for (const subscription of this.#subscriptions) subscription.close();
  }

  #hear(master: Master): void {
    this.#callers.add(master);
    for (const look of this.#onWakeUp) look();
  }

  async #until(isDue: () => boolean, atMostMs: number, aborted: AbortSignal): Promise<void> {
    if (isDue()) return;
    const due = new AbortController();
    const look = () => {
      if (isDue() || aborted.aborted) due.abort();
    };
    this.#onWakeUp.add(look);
    aborted.addEventListener('abort', look, { once: true });
    await this.#clock.sleep(atMostMs, due.signal);
    aborted.removeEventListener('abort', look);
    this.#onWakeUp.delete(look);
  }
}
