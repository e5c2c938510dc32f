// What a record comes to: an exit status (a number, or a signal that is raised again), the facts of
// --report and hooks, and the entry in the history. *Note:* main raises INT, TERM and HUP again
// instead of exiting with 128 + n, so that a loop of a shell around redlock-run ends too; `$?` is
// the same. The sentences are in text/ends.ts.

import assert from 'node:assert/strict';
import os from 'node:os';
import { blockerOf, renderRun } from '../lock/history.ts';
import type { HolderRecord } from '../lock/value.ts';
import { outcomeOfEnd } from '../text/ends.ts';
import { type Outcome, outcomeTable } from '../text/outcomes.ts';
import { blockerIn, type Ending, type RunRecord, type Signal } from './record.ts';
import { raisedAgain } from './signals.ts';

export interface ExitStatus {
  readonly code: number;
  /** To be raised again instead of exiting with the code. */
  readonly signal: Signal | null;
}

type Ended = Pick<Ending, 'cause' | 'childExit'>;

export function exitStatusOf(ended: Ended, conflictExitCode: number): ExitStatus {
  const { cause, childExit } = ended;
  const { status } = outcomeTable[outcomeOf(ended)];
  if (status === 'conflict') return { code: conflictExitCode, signal: null };
  if (status !== 'command') return { code: status, signal: null };
  if (cause.kind === 'signal') return bySignal(cause.signal);
  if (childExit?.kind === 'signaled') return bySignal(childExit.signal);
  assert(childExit?.kind === 'exited', 'a run that ended with its child has no exit of the child');
  return { code: childExit.code, signal: null };
}

function bySignal(signal: Signal): ExitStatus {
  const number = os.constants.signals[signal];
  return { code: 128 + number, signal: raisedAgain.includes(signal) ? signal : null };
}

export function outcomeOf({ cause, childExit }: Ended): Outcome {
  if (cause.kind !== 'child') return outcomeOfEnd(cause);
  return childExit === null ? 'ran' : outcomeOfEnd(childExit);
}

/** The facts that --report, hooks and the history share, by the same names; in whole ms. */
export function factsOf(record: RunRecord, conflictExitCode: number) {
  const { cause, childExit, unkillable, waitMs, runMs } = record;
  const stoppedBy = cause.kind === 'stopped' || cause.kind === 'lost' ? cause.by : undefined;
  const lossReason = cause.kind === 'lost' ? cause.reason : null;
  return {
    outcome: outcomeOf(record),
    exitCode: childExit?.kind === 'exited' ? childExit.code : null,
    signal: childExit?.kind === 'signaled' ? childExit.signal : null,
    status: exitStatusOf(record, conflictExitCode).code,
    lossReason: lossReason && stoppedBy ? 'broken' : lossReason,
    stoppedBy: stoppedBy ?? null,
    unkillable,
    waitMs: Math.round(waitMs),
    runMs: runMs === null ? null : Math.round(runMs),
  };
}

/** The entry in the history. `self`: this run, as a holder. */
export function entryOf(
  token: string,
  self: Omit<HolderRecord, 'since'>,
  record: RunRecord,
  conflictExitCode: number,
): string {
  const { heldMs, fence } = record;
  return renderRun({
    token,
    ...self,
    ...factsOf(record, conflictExitCode),
    heldMs: heldMs === null ? null : Math.round(heldMs),
    fence,
    blocker: blockerOf(blockerIn(record) ?? ''),
  });
}
