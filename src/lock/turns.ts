// The part of an attempt that waits: masters that are asked when it is our turn there. It does not know when that is (line.ts). The
// surprise: others may have decided by then, and the lock may have been given back, so that nothing must be asked for any more.

import type { AcquireReply, Master } from './ports.ts';

/** Resolves when it is our turn at a master. */
export type TurnAt = (master: Master) => Promise<void>;

export class Turns {
  readonly #pending = new Set<Promise<void>>();

  async ask(turn: Promise<void>, isWanted: () => boolean, ask: () => Promise<AcquireReply>): Promise<AcquireReply> {
    this.#pending.add(turn);
    await turn;
    this.#pending.delete(turn);
    return isWanted() ? ask() : { kind: 'failed', cause: 'timeout', message: 'no call in time' };
  }

  /** Resolves when every turn has come, and whatever had to be asked then has been sent. */
  async over(): Promise<void> {
    await Promise.all(this.#pending);
  }
}
