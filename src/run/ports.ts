// The ports of a run: its settings, the parts that it is given, what it tells the guard of a lease,
// what it reports, and its result. The simulator runs it with parts of its own. Reports decide
// nothing.

import type { Unkillable } from '../lock/history.ts';
import type { Listen } from '../lock/holder-channel.ts';
import { deadlineOf } from '../lock/lease-keeper.ts';
import type { Clock, LockEvent, Random } from '../lock/ports.ts';
import type { HeldLock } from '../lock/redlock.ts';
import type { RunTimings } from '../lock/timings.ts';
import type { Claim, Lease } from '../lock/types.ts';
import type { Acquisition } from '../lock/wait.ts';
import type { Child, TimeLeft } from './child.ts';
import type { ChildExit, RunLossReason, RunResult, Signal, StopReason } from './run-result.ts';

/**
 * *Invariant:* the guard counts from clock readings that were taken before the call. So a process
 * that is suspended between the two makes the deadlines earlier, and never later.
 */
export function timeLeftOf(
  lease: Lease,
  { reserveMs, marginMs }: Pick<RunTimings, 'reserveMs' | 'marginMs'>,
  clock: Clock,
): TimeLeft {
  return () => {
    const now = clock.now();
    return [deadlineOf(lease, reserveMs) - now, deadlineOf(lease, marginMs) - now];
  };
}

export type RunEvent =
  | LockEvent
  | { readonly kind: 'child-started'; readonly pid: number }
  | { readonly kind: 'child-exited'; readonly exit: ChildExit; readonly runMs: number }
  | { readonly kind: 'relayed'; readonly signal: Signal }
  /** `validMs`: what is left of validity; `unconfirmedMs`: the time since the last confirmation. */
  | {
      readonly kind: 'stopping';
      readonly cause: StopReason;
      readonly signal: Signal;
      readonly validMs: number;
      readonly unconfirmedMs: number;
    }
  /**
   * The command has ended, and at the release no quorum showed our value: another holder had the
   * lock, or it was only missing.
   */
  | { readonly kind: 'lost-at-release' }
  | { readonly kind: 'missing-at-release' }
  /** The lock was lost before the command was started: it never runs. */
  | { readonly kind: 'never-started'; readonly reason: RunLossReason }
  /** The guard died in the middle of the start: it is not known whether the command was started. */
  | { readonly kind: 'unknown-start' }
  | { readonly kind: 'killed' }
  /** The command has ended, and so many processes that it started have not. */
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

export type ReportRun = (event: RunEvent) => void;

/** Whether the event reports the loss of a lock that was held. */
export function isLoss(event: RunEvent): boolean {
  if (event.kind === 'stopping') return event.cause.kind === 'lost';
  return ['lost-at-release', 'never-started', 'unknown-start'].includes(event.kind);
}

/** success: only after a command that exited with 0. */
export type HoldOn = 'success' | 'always';

export interface RunSettings extends Omit<RunTimings, 'ttlMs' | 'driftFactor'> {
  readonly stopSignal: Signal;
  readonly holdAtLeastMs: number;
  /** After which runs the lock is kept for so long. */
  readonly holdOn: HoldOn;
  readonly maxRunMs: number | null;
  readonly keepsBackground: boolean;
}

/** The parts of a run; the simulator has its own. */
export interface RunParts {
  readonly redlock: HeldLock;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: ReportRun;
  /**
   * Waits for the lock and for all that the child needs to start. The reason of `aborted` is the
   * cause of the end.
   */
  readonly acquire: (aborted: AbortSignal) => Promise<Acquisition>;
  readonly startChild: (lease: Lease) => Child;
  /**
   * Whether later runs would find other masters than these, so that the lock is worth nothing.
   * Called at each extension.
   */
  readonly areMastersReplaced: () => boolean;
  /** Called once when a lock that was held is lost, with the facts known by then. */
  readonly onLost: (lease: Lease, finished: Finished) => void;
  /** Whose process this is; null: that cannot be read. */
  readonly userOf: (pid: number) => string | null;
  /** Suspends this process, as Ctrl-Z would. */
  readonly suspendUs: () => void;
  /** Subscribes to what people ask of the holder; null: they are not listened to. */
  readonly listen: Listen | null;
  /** The line for the history of the lock that is about to be released; null: none. */
  readonly lineOf: (claim: Claim, finished: Finished, heldMs: number) => string | null;
}

export interface Finished {
  readonly result: RunResult;
  readonly waitMs: number;
  /** Until now where the command still runs; null: it was never started. */
  readonly runMs: number | null;
  readonly extensionCount: number;
  /** The fencing number that the command was given; null: none. */
  readonly fence: number | null;
  /** How long ago the lock had last been confirmed when it was lost; null: it was not lost. */
  readonly unconfirmedMs: number | null;
}
