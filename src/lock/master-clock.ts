// Whether a master's time of day keeps step with our clock between extensions. Redis expires keys by
// that time, so a master whose clock is set forward drops locks early. Nothing can be done about it
// from here, but it is reported. Only progress is compared; and an answer may have been under way
// for any part of the time that we waited for it, so only what no delay can explain is a jump.

import { driftMsOf } from './quorum.ts';

/** By how much the master's clock was ahead of ours when it answered: at least, and at most. */
interface Lead {
  readonly leastMs: number;
  readonly mostMs: number;
  readonly at: number;
}

export class MasterTimes {
  readonly #leads = new Map<object, Lead>();

  /**
   * By how many ms the master ran ahead of us since its last answer, negative if behind; 0 for what drift and the way of the
   * answers explain. `masterTimeMs` was read on the master between `askedAt` and `answeredAt` on our clock.
   */
  jumpOf(master: object, masterTimeMs: number, askedAt: number, answeredAt: number): number {
    const lead = {
      leastMs: masterTimeMs - answeredAt,
      mostMs: masterTimeMs - askedAt,
      at: answeredAt,
    };
    const last = this.#leads.get(master);
    this.#leads.set(master, lead);
    if (!last) return 0;
    const driftMs = driftMsOf(answeredAt - last.at);
    const aheadMs = lead.leastMs - last.mostMs;
    const behindMs = last.leastMs - lead.mostMs;
    if (aheadMs > driftMs) return Math.round(aheadMs);
    return behindMs > driftMs ? -Math.round(behindMs) : 0;
  }
}
