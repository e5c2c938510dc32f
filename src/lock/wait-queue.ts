// The client's side of the wait queue: a subscription on each master, and pauses that end with a
// wake-up. The queue itself is kept by the masters.
// *Note:* each master sends its wake-up when the release has reached it. A waiter that asked all of
// them at the first wake-up would find the others not free yet, so a pause goes on for a moment.

import type { Clock, Master, Subscription } from './ports.ts';
import { quorumOf } from './quorum.ts';

/** How long a pause goes on after the first wake-up for those of the other masters. */
const togetherMs = 10;
/** How many pauses wake-ups end in a second: any client, and any master, can send those. */
const maxWoken = 10;

export class Subscriptions {
  readonly #clock: Clock;
  readonly #quorum: number;
  readonly #subscriptions = new Set<Subscription>();
  /** The masters that have sent a wake-up since `forgetWakeUps`. */
  readonly #wakers = new Set<Master>();
  /** Called for every wake-up. */
  readonly #onWakeUp = new Set<() => void>();
  /** When wake-ups ended the last pauses. */
  readonly #wokenAt: number[] = [];
  #isClosed = false;

  private constructor(clock: Clock, quorum: number) {
    this.#clock = clock;
    this.#quorum = quorum;
  }

  /**
   * Resolves when there are subscriptions on a quorum of masters, or after `atMostMs`. A master
   * that fails is left out.
   */
  static async join(
    masters: readonly Master[],
    resources: readonly string[],
    id: string,
    clock: Clock,
    atMostMs: number,
  ): Promise<Subscriptions> {
    const subscriptions = new Subscriptions(clock, quorumOf(masters.length));
    const enough = new AbortController();
    for (const master of masters) {
      master
        .subscribe(resources, id, () => subscriptions.#wake(master))
        .then((subscription) => {
          if ('kind' in subscription) return;
          if (subscriptions.#isClosed) return subscription.close();
          subscriptions.#subscriptions.add(subscription);
          if (subscriptions.#subscriptions.size >= subscriptions.#quorum) enough.abort('enough');
        });
    }
    await clock.sleep(atMostMs, enough.signal);
    return subscriptions;
  }

  /** Whether a wake-up has come since `forgetWakeUps`. */
  get isWoken(): boolean {
    return this.#wakers.size > 0;
  }

  /** Ignores the wake-ups that came before. */
  forgetWakeUps(): void {
    this.#wakers.clear();
  }

  /**
   * Resolves when all masters have sent a wake-up, `togetherMs` after the first one, after
   * `atMostMs` without one, or when `aborted`. A flood of wake-ups makes it last up to `atMostMs`.
   */
  async pause(atMostMs: number, aborted: AbortSignal): Promise<void> {
    const beganAt = this.#clock.now();
    await this.#until(() => this.isWoken, atMostMs, aborted);
    const isWokenByAll = () => this.#wakers.size >= this.#subscriptions.size;
    if (!this.isWoken) return;
    await this.#until(isWokenByAll, togetherMs, aborted);
    const [first = 0] = this.#wokenAt;
    const now = this.#clock.now();
    const earlyMs = this.#wokenAt.length < maxWoken ? 0 : first + 1_000 - now;
    const leftMs = atMostMs - (now - beganAt);
    if (Math.min(earlyMs, leftMs) > 0) await this.#clock.sleep(Math.min(earlyMs, leftMs), aborted);
    this.#wokenAt.push(this.#clock.now());
    if (this.#wokenAt.length > maxWoken) this.#wokenAt.shift();
  }

  close(): void {
    this.#isClosed = true;
    for (const subscription of this.#subscriptions) subscription.close();
  }

  #wake(master: Master): void {
    this.#wakers.add(master);
    for (const look of this.#onWakeUp) look();
  }

  async #until(isDue: () => boolean, atMostMs: number, aborted: AbortSignal): Promise<void> {
    if (isDue()) return;
    const due = new AbortController();
    const look = () => {
      if (isDue() || aborted.aborted) due.abort('due');
    };
    this.#onWakeUp.add(look);
    aborted.addEventListener('abort', look, { once: true });
    await this.#clock.sleep(atMostMs, due.signal);
    aborted.removeEventListener('abort', look);
    this.#onWakeUp.delete(look);
  }
}
