// The part of an attempt that waits: masters that are asked when it is our turn there. It does not know when that is (line.ts). The
// surprise: others may have decided by then, and the lock may have been given back, so that nothing must be asked for any more.

import type { AcquireReply, Failed, Master } from './ports.ts';

/** Resolves when it is our turn at a master. */
export type TurnAt = (master: Master) => Promise<void>;

/** The vote of a master whose turn came too late: it says nothing of the master. */
export const unasked: Failed = { kind: 'failed', cause: 'timeout', message: 'not asked' };

export class Turns {
  readonly #pending = new Set<Promise<void>>();

  async ask(turn: Promise<void>, isWanted: () => boolean, ask: () => Promise<AcquireReply>): Promise<AcquireReply> {
    this.#pending.add(turn);
    await turn;
    this.#pending.delete(turn);
    return isWanted() ? ask() : unasked;
  }

  /** Resolves when every turn has come, and whatever had to be asked then has been sent. */
  async over(): Promise<void> {
    await Promise.all(this.#pending);
  }
}
