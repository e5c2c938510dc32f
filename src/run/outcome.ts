// How a run ended: as an exit status (a number, or a signal that is raised again), and as the facts
// that --report, the history and hooks share. *Note:* main raises INT, TERM and HUP again instead
// of exiting with 128 + n, so that a loop of a shell around redlock-run ends too; `$?` is the same.
// The sentences for people are in cli/ending-line.ts.

import assert from 'node:assert/strict';
import os from 'node:os';
import type { RunEnd } from '../lock/history.ts';
import { exitCode } from '../text/errors.ts';
import { type LossWord, type Outcome, outcomeOfKind, outcomeTable } from '../text/outcomes.ts';
import type { Finished } from './ports.ts';
import type { Lost, RunResult, Signal } from './run-result.ts';
import { raisedAgain } from './signals.ts';

export interface ExitStatus {
  readonly code: number;
  /** To be raised again instead of exiting with the code. */
  readonly signal: Signal | null;
}

export function exitStatusOf(result: RunResult, conflictExitCode: number): ExitStatus {
  const { cause, childExit } = result;
  const { status } = outcomeTable[outcomeOf(result)];
  if (status === 'conflict') return exit(conflictExitCode);
  if (typeof status === 'number') return exit(status);
  if (cause.kind === 'signal') return bySignal(cause.signal);
  if (childExit?.kind === 'signaled') return bySignal(childExit.signal);
  assert(childExit?.kind === 'exited', 'a run that ended with its child has no exit of the child');
  return exit(childExit.code);
}

function bySignal(signal: Signal): ExitStatus {
  const number = os.constants.signals[signal];
  return { code: 128 + number, signal: raisedAgain.includes(signal) ? signal : null };
}

function exit(code: number): ExitStatus {
  return { code, signal: null };
}

/** The facts of a run for --report and hooks; times are whole ms. */
export interface RunFacts extends RunEnd {
  readonly waitMs: number;
  /** null: the command was never started. */
  readonly runMs: number | null;
}

export function factsOf({ result, waitMs, runMs }: Finished, conflictExitCode: number): RunFacts {
  return {
    ...endOf(result, conflictExitCode),
    waitMs: Math.round(waitMs),
    runMs: runMs === null ? null : Math.round(runMs),
  };
}

export function endOf(result: RunResult, conflictExitCode: number): RunEnd {
  const { cause, childExit, unkillable } = result;
  const stoppedBy = cause.kind === 'stopped' || cause.kind === 'lost' ? cause.by : undefined;
  return {
    outcome: outcomeOf(result),
    exitCode: childExit?.kind === 'exited' ? childExit.code : null,
    signal: childExit?.kind === 'signaled' ? childExit.signal : null,
    status: exitStatusOf(result, conflictExitCode).code,
    lossReason: cause.kind === 'lost' ? lossWordOf(cause) : null,
    stoppedBy: stoppedBy ?? null,
    unkillable,
  };
}

function lossWordOf({ reason, by }: Lost): LossWord {
  return by ? 'broken' : reason;
}

export function outcomeOf({ cause, childExit }: RunResult): Outcome {
  if (cause.kind !== 'child') return outcomeOfKind[cause.kind];
  return childExit === null ? 'ran' : outcomeOfKind[childExit.kind];
}

/** Of a run that ended with an error, by its exit status. */
export function outcomeOfFailure(status: number): Outcome {
  return status === exitCode.bug ? 'bug' : 'not-started';
}
