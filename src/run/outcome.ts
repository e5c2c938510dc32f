// The outcome of a run in one word, for --report and the history of the lock. A command that failed
// has run too: its exit code says so. The sentences for people are in cli/run-lines.ts.

import type { ChildExit, RunResult, StopReason } from './supervisor.ts';

/** All outcomes with their meaning; docs/reference.md has this table. */
export const outcomeTable = {
  ran: 'the command ran to its end, well or not, or died of a signal of its own',
  'not-found': 'the command was not found',
  'not-executable': 'the command cannot be executed',
  busy: 'held by someone else for all of the wait',
  superseded: 'a newer waiter took its position (`--supersede`)',
  nested: 'held by an enclosing run, which would wait for itself',
  'no-quorum': 'too few masters answered, or too slowly, to tell whether the lock is held',
  misconfigured: 'the masters themselves say that their list, or the login, is wrong',
  aborted: 'the wait was given up',
  signal: 'redlock-run was told to stop by a signal',
  'max-run': '`--max-run` was exceeded',
  lost: 'the lock was lost, or with `--reentrant` that of the enclosing run',
  replaced: 'given up for a newer run (`--replace`)',
  stopped: 'a person asked for it (`redlockctl stop`)',
} as const;

export type Outcome = keyof typeof outcomeTable;

export function outcomeOf({ cause, childExit }: RunResult): Outcome {
  return cause.kind === 'child' ? childOutcome(childExit) : causeOutcome(cause);
}

function causeOutcome(cause: Exclude<StopReason, { kind: 'child' }>): Outcome {
  if (cause.kind !== 'not-acquired') return cause.kind;
  const { kind } = cause.acquisition;
  if (kind === 'enclosing-lost') return 'lost';
  return kind === 'unreachable' || kind === 'too-slow' ? 'no-quorum' : kind;
}

function childOutcome(exit: ChildExit | null): Outcome {
  return exit?.kind === 'not-found' || exit?.kind === 'not-executable' ? exit.kind : 'ran';
}
