// How a run ended, in one word: what --report and the history of the lock say. Pure, and not for people: lines.ts has the sentences.
// The surprise: a command that failed has run; its exit code says the rest.

import type { Cause, ChildExit, Ending } from './supervisor.ts';

export function outcomeOf({ cause, childExit }: Ending): string {
  return cause.kind === 'child' ? childOutcome(childExit) : causeOutcome(cause);
}

function causeOutcome(cause: Exclude<Cause, { kind: 'child' }>): string {
  if (cause.kind !== 'not-acquired') return cause.kind;
  const { kind } = cause.acquisition;
  if (kind === 'outer-lost') return 'lost';
  return kind === 'unreachable' || kind === 'too-slow' ? 'no-quorum' : kind;
}

function childOutcome(exit: ChildExit | null): string {
  return exit?.kind === 'not-found' || exit?.kind === 'not-executable' ? exit.kind : 'ran';
}
