// Makes the record of a run for the history of its lock; the release sends it. The holder that the
// run waited for is known only from refusals, so it is noted from the events.

import { blockerOf, renderRecord } from '../lock/history-record.ts';
import type { Clock } from '../lock/ports.ts';
import type { Claim } from '../lock/types.ts';
import { type HolderNote, parseValue } from '../lock/value.ts';
import type { NotAcquired } from '../lock/wait.ts';
import type { RunEvent } from './events.ts';
import { exitStatusOf } from './exit-code.ts';
import { outcomeOf } from './outcome.ts';
import type { Finished } from './run.ts';
import type { RunResult, StopReason } from './supervisor.ts';

export class Recorder {
  readonly #note: Omit<HolderNote, 'since'>;
  readonly #conflictExitCode: number;
  readonly #clock: Clock;
  readonly #beganAt: number;
  #holder = '';

  constructor(note: Omit<HolderNote, 'since'>, conflictExitCode: number, clock: Clock) {
    this.#note = note;
    this.#conflictExitCode = conflictExitCode;
    this.#clock = clock;
    this.#beganAt = clock.now();
  }

  see(event: RunEvent): void {
    if (event.kind === 'waiting' && event.holder !== '') this.#holder = event.holder;
  }

  /** The record of a run that held the lock for so many ms. */
  ofRun(claim: Claim, { result, waitMs, fence }: Finished, heldMs: number): string {
    const { childExit } = result;
    const hasRun = childExit?.kind === 'exited' || childExit?.kind === 'signaled';
    return this.#render(claim, result, waitMs, hasRun ? heldMs : null, fence);
  }

  /** The record of a run that did not acquire the lock. `cause`: why it was stopped, if it was. */
  ofWait(claim: Claim, acquisition: NotAcquired, cause: StopReason | undefined): string {
    if (acquisition.kind === 'busy' && acquisition.holder !== '') this.#holder = acquisition.holder;
    const result = {
      cause: cause ?? { kind: 'not-acquired', acquisition },
      childExit: null,
      isKilled: false,
    } as const;
    return this.#render(claim, result, this.#clock.now() - this.#beganAt, null, null);
  }

  /** Of a run that is refused at once; the masters add the holder. `run`: in place of a token. */
  ofSkip(run: string): string {
    return renderRecord({
      token: run,
      ...this.#note,
      outcome: 'busy',
      ...{ waitMs: 0, heldMs: null, exitCode: null, signal: null },
      status: this.#conflictExitCode,
      fence: null,
      blocker: null,
    });
  }

  #render(
    { value }: Claim,
    result: RunResult,
    waitMs: number,
    heldMs: number | null,
    fence: number | null,
  ): string {
    const { childExit, cause } = result;
    const stoppedBy = cause.kind === 'stopped' || cause.kind === 'lost' ? cause.by : undefined;
    return renderRecord({
      token: parseValue(value).token,
      ...this.#note,
      outcome: outcomeOf(result),
      waitMs: Math.round(waitMs),
      heldMs: heldMs === null ? null : Math.round(heldMs),
      exitCode: childExit?.kind === 'exited' ? childExit.code : null,
      signal: childExit?.kind === 'signaled' ? childExit.signal : null,
      status: exitStatusOf(result, this.#conflictExitCode).code,
      fence,
      blocker: blockerOf(this.#holder),
      ...(stoppedBy ? { stoppedBy } : {}),
    });
  }
}
