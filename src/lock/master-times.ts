// Whether a master's time of day keeps step with our clock between extensions. Redis expires keys by that time, so a master
// whose clock is set forward drops locks early; nothing can be done about it from here, but somebody should be told. The
// surprise: no clock is right or wrong here; only progress is compared, so offsets do not matter.

import type { Master } from './ports.ts';
import { driftMsOf } from './validity.ts';

interface Reading {
  readonly masterTimeMs: number;
  readonly at: number;
}

export class MasterTimes {
  readonly #readings = new Map<Master, Reading>();

  /**
   * By how many ms the master ran ahead of us since its last reading, negative if behind; 0 for what drift and the time
   * that an answer may take (`slackMs`) explain.
   */
  jumpOf(master: Master, masterTimeMs: number, at: number, slackMs: number): number {
    const last = this.#readings.get(master);
    this.#readings.set(master, { masterTimeMs, at });
    if (!last) return 0;
    const ourMs = at - last.at;
    const aheadMs = masterTimeMs - last.masterTimeMs - ourMs;
    return Math.abs(aheadMs) > driftMsOf(ourMs) + slackMs ? Math.round(aheadMs) : 0;
  }
}
