// The exit status of a run: a number, or a signal that is raised again. Pure.
// *Note:* main raises INT, TERM and HUP again instead of exiting with 128 + n, so that a loop of a
// shell around redlock-run ends too; `$?` is the same.

import os from 'node:os';
import type { NotAcquired } from '../lock/wait.ts';
import { exitCode } from '../text/exit-codes.ts';
import type { ChildExit, RunResult, Signal } from './supervisor.ts';

export interface ExitStatus {
  readonly code: number;
  /** To be raised again instead of exiting with the code. */
  readonly signal: Signal | null;
}

const raisedAgain: readonly Signal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

export function exitStatusOf(
  { cause, childExit }: RunResult,
  conflictExitCode: number,
): ExitStatus {
  switch (cause.kind) {
    case 'lost':
      // There was no guard, and the command was never started.
      if (cause.reason === 'guard-lost' && !isStarted(childExit)) return exit(exitCode.unreachable);
      return exit(exitCode.lost);
    case 'replaced':
    case 'stopped':
      return exit(exitCode.lost);
    case 'max-run':
      return exit(exitCode.overdue);
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
        default:
          throw new Error('a run that ended with its child has no exit of the child');
      }
  }
}

function isStarted(childExit: ChildExit | null): boolean {
  return childExit?.kind === 'exited' || childExit?.kind === 'signaled';
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
