// How a holder receives what people ask of it: by a subscription on each master. A lock needs none:
// where it fails, nothing is asked.

import { type HolderRequest, HolderRequests } from './people.ts';
import type { Master, Subscription } from './ports.ts';
import type { Claim } from './types.ts';
import { askedIdOf } from './waiter-id.ts';

export type OnRequest = (request: HolderRequest) => void;
/** Listens for what people ask of the holder of this claim. */
export type Listen = (claim: Claim, onRequest: OnRequest) => HolderChannel;

/** A master that fails is left out until the next `renew`. */
export class HolderChannel {
  readonly #claim: Claim;
  readonly #onRequest: OnRequest;
  readonly #requests: HolderRequests;
  readonly #subscriptions = new Set<Subscription>();
  /** The masters without a subscription, and with none under way. */
  readonly #missing: Set<Master>;
  #isClosed = false;

  constructor(masters: readonly Master[], claim: Claim, onRequest: OnRequest) {
    this.#claim = claim;
    this.#onRequest = onRequest;
    this.#requests = new HolderRequests(claim.token, masters.length);
    this.#missing = new Set(masters);
    this.renew();
  }

  /** Subscribes on the masters where that has failed. */
  renew(): void {
    const { resources, token } = this.#claim;
    for (const master of [...this.#missing]) {
      this.#missing.delete(master);
      const onMessage = (message: string) => this.#receive(master, message);
      void master.subscribe(resources, askedIdOf(token), onMessage).then((subscription) => {
        if ('kind' in subscription) this.#missing.add(master);
        else if (this.#isClosed) subscription.close();
        else this.#subscriptions.add(subscription);
      });
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#missing.clear();
    for (const subscription of this.#subscriptions) subscription.close();
  }

  #receive(master: Master, message: string): void {
    const request = this.#isClosed ? null : this.#requests.receive(master.name, message);
    if (request !== null) this.#onRequest(request);
  }
}
