// The lines of a run in the history of its lock that its requests carry while it waits: that it was
// refused, that it left the queue, that it began. Its end is in outcome.ts.

import { renderRun, vanished } from '../lock/history.ts';
import type { Clock } from '../lock/ports.ts';
import type { Claim, Start } from '../lock/types.ts';
import type { HolderRecord } from '../lock/value.ts';
import { entryOf } from './outcome.ts';
import { type Cause, notStarted, type Seen } from './record.ts';

export class HistoryLines {
  readonly #self: Omit<HolderRecord, 'since'>;
  readonly #conflictExitCode: number;
  readonly #clock: Clock;
  readonly #seen: () => Seen;
  readonly #beganAt: number;
  #skipLine: string | null = null;
  #hasAttempted = false;

  constructor(
    self: Omit<HolderRecord, 'since'>,
    conflictExitCode: number,
    clock: Clock,
    seen: () => Seen,
  ) {
    this.#self = self;
    this.#conflictExitCode = conflictExitCode;
    this.#clock = clock;
    this.#seen = seen;
    this.#beganAt = clock.now();
  }

  /** The line of a run that did not acquire the lock. */
  ofWait({ token }: Claim, cause: Cause): string {
    const waitMs = this.#clock.now() - this.#beganAt;
    const record = { ...notStarted, ...this.#seen(), cause, waitMs };
    return entryOf(token, this.#self, record, this.#conflictExitCode);
  }

  /**
   * What the next attempt of a run that does not wait leaves where it is refused: one line for all
   * attempts, and whether one was made before. `run`: in place of a token.
   */
  skipOf(run: string): NonNullable<Claim['skip']> {
    // The masters add the holder.
    this.#skipLine ??= renderRun({
      token: run,
      ...this.#self,
      outcome: 'busy',
      waitMs: 0,
      status: this.#conflictExitCode,
    });
    const { host } = this.#self;
    const skip = { line: this.#skipLine, host, run, isRepeated: this.#hasAttempted };
    this.#hasAttempted = true;
    return skip;
  }

  /** What the masters keep of a run that has acquired the lock, until its end. */
  startOf({ token }: Claim): Start {
    const waitMs = Math.round(this.#clock.now() - this.#beganAt);
    const line = renderRun({ token, ...this.#self, outcome: vanished, waitMs, status: 0 });
    return { token, line };
  }
}
