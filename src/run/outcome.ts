// How a run ended: as an exit status (a number, or a signal that is raised again), and as the facts
// that --report, the history and hooks share. *Note:* main raises INT, TERM and HUP again instead
// of exiting with 128 + n, so that a loop of a shell around redlock-run ends too; `$?` is the same.
// The sentences for people are in cli/ending-line.ts.

import os from 'node:os';
import type { RunEnd } from '../lock/history.ts';
import type { NotAcquired } from '../lock/wait.ts';
import { exitCode } from '../text/errors.ts';
import type { LossWord, Outcome } from '../text/outcomes.ts';
import type { Finished } from './ports.ts';
import type { ChildExit, Lost, RunResult, Signal, StopReason } from './run-result.ts';
import { raisedAgain } from './signals.ts';

export interface ExitStatus {
  readonly code: number;
  /** To be raised again instead of exiting with the code. */
  readonly signal: Signal | null;
}

export function exitStatusOf(
  { cause, childExit }: RunResult,
  conflictExitCode: number,
): ExitStatus {
  switch (cause.kind) {
    case 'lost':
      return exit(exitCode.lost);
    case 'replaced':
    case 'stopped':
      return exit(exitCode.lost);
    case 'max-run':
      return exit(exitCode.maxRun);
    case 'caller-gone':
      return exit(conflictExitCode);
    case 'signal':
      return bySignal(cause.signal);
    case 'not-acquired':
      return exit(codeOf(cause.acquisition, conflictExitCode));
    case 'child':
      switch (childExit?.kind) {
        case 'exited':
          return exit(childExit.code);
        case 'signaled':
          return bySignal(childExit.signal);
        case 'not-executable':
          return exit(exitCode.notExecutable);
        case 'not-found':
          return exit(exitCode.notFound);
        case 'cannot-start':
          return exit(exitCode.unreachable);
        default:
          throw new Error('a run that ended with its child has no exit of the child');
      }
  }
}

function codeOf(acquisition: NotAcquired, conflictExitCode: number): number {
  switch (acquisition.kind) {
    case 'busy':
    case 'nested':
    case 'superseded':
      return conflictExitCode;
    case 'misconfigured':
      return exitCode.config;
    case 'enclosing-lost':
      return exitCode.lost;
    default:
      return exitCode.unreachable;
  }
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
  return cause.kind === 'child' ? childOutcome(childExit) : causeOutcome(cause);
}

/** Of a run that ended with an error, by its exit status. */
export function outcomeOfFailure(status: number): Outcome {
  return status === exitCode.bug ? 'bug' : 'not-started';
}

function causeOutcome(cause: Exclude<StopReason, { kind: 'child' }>): Outcome {
  if (cause.kind === 'caller-gone') return 'aborted';
  if (cause.kind !== 'not-acquired') return cause.kind;
  const { kind } = cause.acquisition;
  if (kind === 'enclosing-lost') return 'lost';
  return kind === 'unreachable' || kind === 'too-slow' ? 'no-quorum' : kind;
}

function childOutcome(exit: ChildExit | null): Outcome {
  if (exit?.kind === 'cannot-start') return 'not-started';
  return exit?.kind === 'not-found' || exit?.kind === 'not-executable' ? exit.kind : 'ran';
}
