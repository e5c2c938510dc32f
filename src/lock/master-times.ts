// Jumps of a master's time of day. Redis expires keys by that time, so a master whose clock is set
// forward drops locks early. A client cannot prevent that, but it can report it. *Note:* only the
// progress since the last answer is compared. The time that an answer was under way is unknown, so
// only a difference that no delay can explain is a jump.

import { defaultDriftFactor, driftMsOf } from './quorum.ts';

/** By how much the master's clock was ahead of ours when it answered: the least and the most. */
interface Lead {
  readonly minMs: number;
  readonly maxMs: number;
  readonly at: number;
}

export class MasterTimes {
  readonly #leads = new Map<object, Lead>();

  /**
   * By how many ms the master's clock ran ahead of ours since its last answer; negative if behind;
   * 0 where drift and delays explain the difference. `masterTimeMs` was read on the master between
   * `askedAt` and `answeredAt` on our clock.
   */
  jumpOf(master: object, masterTimeMs: number, askedAt: number, answeredAt: number): number {
    const lead = {
      minMs: masterTimeMs - answeredAt,
      maxMs: masterTimeMs - askedAt,
      at: answeredAt,
    };
    const last = this.#leads.get(master);
    this.#leads.set(master, lead);
    if (!last) return 0;
    const driftMs = driftMsOf(answeredAt - last.at, defaultDriftFactor);
    const aheadMs = lead.minMs - last.maxMs;
    const behindMs = last.minMs - lead.maxMs;
    if (aheadMs > driftMs) return Math.round(aheadMs);
    return behindMs > driftMs ? -Math.round(behindMs) : 0;
  }
}
