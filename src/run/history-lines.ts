// The lines that a run leaves in the history of its lock, which its requests carry: its start, its
// end, or that it was refused. The holder that it waited for is known only from refusals, so it is
// noted from the events.

import { blockerOf, renderRun, renderStart } from '../lock/history.ts';
import type { Clock } from '../lock/ports.ts';
import type { Claim, Start } from '../lock/types.ts';
import type { HolderRecord } from '../lock/value.ts';
import type { NotAcquired } from '../lock/wait.ts';
import { endOf } from './outcome.ts';
import type { Finished, RunEvent } from './ports.ts';
import { hasRun, type RunResult, type StopReason } from './run-result.ts';

export class HistoryLines {
  readonly #self: Omit<HolderRecord, 'since'>;
  readonly #conflictExitCode: number;
  readonly #clock: Clock;
  readonly #beganAt: number;
  #holder = '';
  #skipLine: string | null = null;
  #hasAttempted = false;

  constructor(self: Omit<HolderRecord, 'since'>, conflictExitCode: number, clock: Clock) {
    this.#self = self;
    this.#conflictExitCode = conflictExitCode;
    this.#clock = clock;
    this.#beganAt = clock.now();
  }

  see(event: RunEvent): void {
    if (event.kind === 'waiting' && event.holder !== '') this.#holder = event.holder;
  }

  /** The line of a run that held the lock for so many ms. */
  ofRun(claim: Claim, { result, waitMs, fence }: Finished, heldMs: number): string {
    const { childExit } = result;
    return this.#render(claim, result, waitMs, hasRun(childExit) ? heldMs : null, fence);
  }

  /** The line of a run that did not acquire the lock. `cause`: why it was stopped, if it was. */
  ofWait(claim: Claim, acquisition: NotAcquired, cause: StopReason | undefined): string {
    if (acquisition.kind === 'busy' && acquisition.holder !== '') this.#holder = acquisition.holder;
    const result = {
      cause: cause ?? acquisition,
      childExit: null,
      isKilled: false,
      unkillable: [],
    } as const;
    return this.#render(claim, result, this.#clock.now() - this.#beganAt, null, null);
  }

  /**
   * What the next attempt of a run that does not wait leaves where it is refused: one line for all
   * attempts, and whether one was made before. `run`: in place of a token.
   */
  skipOf(run: string): NonNullable<Claim['skip']> {
    this.#skipLine ??= this.#lineOfSkip(run);
    const { host } = this.#self;
    const skip = { line: this.#skipLine, host, run, isRepeated: this.#hasAttempted };
    this.#hasAttempted = true;
    return skip;
  }

  /** What the masters keep of a run that has acquired the lock, until its end. */
  startOf({ token }: Claim): Start {
    const waitMs = Math.round(this.#clock.now() - this.#beganAt);
    return { token, line: renderStart(token, this.#self, waitMs) };
  }

  /** The masters add the holder. */
  #lineOfSkip(run: string): string {
    return renderRun({
      token: run,
      ...this.#self,
      outcome: 'busy',
      waitMs: 0,
      heldMs: null,
      exitCode: null,
      signal: null,
      status: this.#conflictExitCode,
      fence: null,
      blocker: null,
    });
  }

  #render(
    { token }: Claim,
    result: RunResult,
    waitMs: number,
    heldMs: number | null,
    fence: number | null,
  ): string {
    return renderRun({
      token,
      ...this.#self,
      ...endOf(result, this.#conflictExitCode),
      waitMs: Math.round(waitMs),
      heldMs: heldMs === null ? null : Math.round(heldMs),
      fence,
      blocker: blockerOf(this.#holder),
    });
  }
}
