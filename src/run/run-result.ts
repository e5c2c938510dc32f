// How a run can end, as facts: the end of its command, why a lock was lost, the cause of the end.

import type { Unkillable } from '../lock/history.ts';
import type { Person } from '../lock/people.ts';
import type { NotAcquired } from '../lock/wait.ts';
import type { RunLossReason } from '../text/outcomes.ts';

export type { RunLossReason };

export type Signal = NodeJS.Signals;

export type ChildExit =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signaled'; readonly signal: Signal }
  /** `interpreter`: what a script names in its `#!` line, and what is not there. */
  | { readonly kind: 'not-found'; readonly interpreter?: string }
  | { readonly kind: 'not-executable'; readonly message: string }
  /** How it has ended or will end is not known: its guard is lost, or it could not be killed. */
  | { readonly kind: 'unknown-exit' }
  /** A guard died in the middle of the start. */
  | { readonly kind: 'unknown-start' }
  /** This machine cannot start it now: `why` is for operators. */
  | { readonly kind: 'cannot-start'; readonly why: string }
  /** It was not started, because its caller is gone: stderr is hung up. */
  | { readonly kind: 'caller-gone' }
  /** It was certainly not started: why the lock was lost before. */
  | { readonly kind: 'never-started'; readonly reason: RunLossReason };

/** `by`: broke the lock. `isOutlived`: the command or its leftovers lived when validity ended. */
export interface Lost {
  readonly kind: 'lost';
  readonly reason: RunLossReason;
  readonly by?: Person;
  readonly isOutlived?: true;
}

/** Why the run ended. */
export type StopReason =
  | NotAcquired
  | { readonly kind: 'child' }
  | { readonly kind: 'signal'; readonly signal: Signal }
  | { readonly kind: 'max-run' }
  /** Its caller is gone: stderr was hung up while it waited. */
  | { readonly kind: 'caller-gone' }
  /** For a newer run, where both have --replace; `by` is the waiter's id. */
  | { readonly kind: 'replaced'; readonly by: string }
  /** A person has asked for it (redlockctl stop). */
  | { readonly kind: 'stopped'; readonly by: Person }
  /** `isAtRelease`: noticed at the release, when the command had ended. */
  | (Lost & { readonly isAtRelease?: true });

export interface RunResult {
  readonly cause: StopReason;
  /** null: the child was never started. */
  readonly childExit: ChildExit | null;
  /** Whether SIGKILL was sent. */
  readonly isKilled: boolean;
  /** What could not be killed: the command itself, or processes that it left behind. */
  readonly unkillable: readonly Unkillable[];
}

/** Whether the command has run, or may have. */
export function hasRun(childExit: ChildExit | null): boolean {
  const ends = ['exited', 'signaled', 'unknown-exit', 'unknown-start'];
  return childExit !== null && ends.includes(childExit.kind);
}
