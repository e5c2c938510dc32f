// The events of a run, and its record: how it ended, and what the events have shown. Exit status,
// closing line, --report, history, hooks and the summary on CI are pure functions of the record.

import type { Unkillable } from '../lock/history.ts';
import type { LockEvent } from '../lock/ports.ts';
import type { Cause, ChildExit, Lost } from '../text/ends.ts';
import type { RunLossReason } from '../text/outcomes.ts';

export type { Cause, ChildExit, Lost, RunLossReason };

export type Signal = NodeJS.Signals;

/** What a run reports. Reports decide nothing. */
export type RunEvent =
  | LockEvent
  | { readonly kind: 'child-started'; readonly pid: number }
  /** `runMs`: null: the command was never started. */
  | { readonly kind: 'child-exited'; readonly exit: ChildExit; readonly runMs: number | null }
  | { readonly kind: 'relayed'; readonly signal: Signal }
  /** `validMs`: what is left of validity; `unconfirmedMs`: the time since the last confirmation. */
  | {
      readonly kind: 'stopping';
      readonly cause: Cause;
      readonly signal: Signal;
      readonly validMs: number;
      readonly unconfirmedMs: number;
    }
  | LossEvent
  | { readonly kind: 'killed' }
  /** The command has ended, and this many processes that it started have not. */
  | { readonly kind: 'leftovers'; readonly count: number; readonly isKept: boolean }
  /** These cannot be killed. The lock is not released, and expires after `remainingMs`. */
  | {
      readonly kind: 'unkillable';
      readonly unkillable: readonly Unkillable[];
      readonly remainingMs: number;
    }
  /** A guard died while the command ran, or what it has left behind: that is ended now. */
  | { readonly kind: 'guard-lost' }
  /** A master that refuses INFO or ROLE: it votes, and cannot be checked. */
  | { readonly kind: 'master-unidentified'; readonly master: string }
  /** A password is configured, and these have asked for none: names, separated by commas. */
  | { readonly kind: 'master-open'; readonly master: string; readonly isMinority: boolean }
  /** Another clock ran ahead of ours: the machine slept, or its time was set. */
  | { readonly kind: 'clock-jumped'; readonly ms: number };

/** Reported where the command is not, or no longer, there to be stopped. */
export type LossEvent =
  /**
   * The command has ended, and at the release no quorum showed our value: another holder had the
   * lock, or it was only missing.
   */
  | { readonly kind: 'lost-at-release' | 'missing-at-release' }
  /** The lock was lost before the command was started: it never runs. */
  | { readonly kind: 'never-started'; readonly reason: RunLossReason }
  /** The guard died in the middle of the start: it is not known whether the command was started. */
  | { readonly kind: 'unknown-start' };

export type ReportRun = (event: RunEvent) => void;

/** Whether the event reports the loss of a lock that was held. */
export function isLoss(event: RunEvent): boolean {
  if (event.kind === 'stopping') return event.cause.kind === 'lost';
  return ['lost-at-release', 'never-started', 'unknown-start'].includes(event.kind);
}

/** How a run ended, as the supervisor decided it. */
export interface Ending {
  readonly cause: Cause;
  /** null: the command was never started. */
  readonly childExit: ChildExit | null;
  /** Whether SIGKILL was sent. */
  readonly isKilled: boolean;
  /** What could not be killed: the command itself, or processes that it left behind. */
  readonly unkillable: readonly Unkillable[];
}

/** What the events of a run have shown so far. */
export interface Seen {
  /** The value of the last holder in the way; '': others were first; null: it was never refused. */
  readonly blocker: string | null;
  /** The position in the wait queue on arrival, from 1; null: it was never in it. */
  readonly position: number | null;
  /** The masters that fail at present. */
  readonly failing: readonly string[];
}

/** Until a run has ended, its facts up to now. */
export interface RunRecord extends Ending, Seen {
  readonly waitMs: number;
  /** null: the command was never started. */
  readonly runMs: number | null;
  /** From the acquisition to the release; null: the command was never started. */
  readonly heldMs: number | null;
  readonly extensionCount: number;
  /** The fencing number that the command was given; null: none. */
  readonly fence: number | null;
  /** The slot that the command was given, from 1; null: none. */
  readonly slot: number | null;
  /** How long ago the lock had last been confirmed when it was lost; null: it was not lost. */
  readonly unconfirmedMs: number | null;
}

export const nothingSeen: Seen = { blocker: null, position: null, failing: [] };

/** The record of a run that did not acquire its lock, without its cause. */
export const notStarted: Omit<RunRecord, 'cause'> = {
  ...nothingSeen,
  childExit: null,
  isKilled: false,
  unkillable: [],
  waitMs: 0,
  runMs: null,
  heldMs: null,
  extensionCount: 0,
  fence: null,
  slot: null,
  unconfirmedMs: null,
};

export function fold(seen: Seen, event: RunEvent): Seen {
  switch (event.kind) {
    case 'waiting': {
      const { holder, position } = event;
      const arrival = seen.position ?? (position === null ? null : position + 1);
      return { ...seen, blocker: holder || seen.blocker || '', position: arrival };
    }
    case 'master-failing':
    case 'master-recovered': {
      const others = seen.failing.filter((name) => name !== event.master);
      return {
        ...seen,
        failing: event.kind === 'master-failing' ? [...others, event.master] : others,
      };
    }
    default:
      return seen;
  }
}

/** As in Seen, with what the last refusal showed. */
export function blockerIn({ cause, blocker }: Pick<RunRecord, 'cause' | 'blocker'>): string | null {
  return cause.kind === 'busy' ? cause.holder || blocker || '' : blocker;
}

/** Whether the command has run, or may have. */
export function hasRun(childExit: ChildExit | null): boolean {
  const ends = ['exited', 'signaled', 'unknown-exit', 'unknown-start'];
  return childExit !== null && ends.includes(childExit.kind);
}
