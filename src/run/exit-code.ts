// The exit status as the API: one table, and the pure function from how a run ended to a number or a signal. The README's
// table and --help are made from or tested against it. The surprise: INT, TERM and HUP are not turned into 128 + n here;
// main raises them again, so that a shell that loops over us stops too, and `$?` is the same.

import os from 'node:os';
import type { NotAcquired } from '../lock/wait.ts';
import type { ChildExit, Ending, Signal } from './supervisor.ts';

export const exitCode = {
  usage: 64,
  unreachable: 69,
  bug: 70,
  output: 74,
  busy: 75,
  config: 78,
  lost: 79,
  overdue: 124,
  notExecutable: 126,
  notFound: 127,
} as const;

/** What each code means: for --help, the README and its test. */
export const exitCodeTable: readonly (readonly [code: string, meaning: string])[] = [
  ['0-255', "the command's own, when it ran to its end under a valid lock"],
  ['128+N', 'the command died of signal N, or redlock-run was told to stop by it'],
  ['64', 'usage error, or timings that cannot be safe'],
  ['69', 'no quorum: too few masters answered to tell who holds the lock'],
  ['70', 'a bug in redlock-run'],
  ['74', 'output asked for (--help, --version, --dry-run, --report before the run) cannot be written'],
  ['75', 'held by someone else for all of the wait (-E changes the number)'],
  [
    '78',
    'configuration: unreadable, not trusted, invalid, no masters, a server listed twice, a replica, a login or certificate refused',
  ],
  [
    '79',
    'the lock was lost, or with --replace given up, while the command ran; the command was stopped; --reentrant: the outer lock was lost',
  ],
  ['124', '--max-run was exceeded'],
  ['126', 'the command cannot be executed'],
  ['127', 'the command was not found'],
];

export interface ExitStatus {
  readonly code: number;
  /** To be raised again instead of exiting with the code. */
  readonly signal: Signal | null;
}

const raisedAgain: readonly Signal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

export function exitStatusOf({ cause, childExit }: Ending, conflictExitCode: number): ExitStatus {
  switch (cause.kind) {
    case 'lost':
      // No guard could be had, and the command was never started.
      if (cause.reason === 'unguarded' && !isStarted(childExit)) return exit(exitCode.unreachable);
      return exit(exitCode.lost);
    case 'replaced':
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
          throw new Error('a run that its child ended has the exit of its child');
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
    case 'outer-lost':
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
