// What a run is given: its settings, its lock, and what acts for it on this machine. The simulator
// has its own of each.

import type { Unkillable } from '../lock/history.ts';
import { deadlineOf } from '../lock/lease-keeper.ts';
import type { Listen } from '../lock/people.ts';
import type { Clock, Random } from '../lock/ports.ts';
import type { HeldLock } from '../lock/redlock.ts';
import type { RunTimings } from '../lock/timings.ts';
import type { Claim, Lease } from '../lock/types.ts';
import type { Acquisition } from '../lock/wait.ts';
import type { ChildExit, ReportRun, RunRecord, Seen, Signal } from './record.ts';

/** success: only after a command that exited with 0. */
export type HoldOn = 'success' | 'always';

export interface RunSettings extends Omit<RunTimings, 'ttlMs' | 'driftFactor'> {
  readonly stopSignal: Signal;
  readonly holdAtLeastMs: number;
  /** After which runs the lock is kept for `holdAtLeastMs`. */
  readonly holdOn: HoldOn;
  readonly maxRunMs: number | null;
  readonly keepsBackground: boolean;
  /** How many slots the lock has; null: none. */
  readonly slotCount: number | null;
}

/** The lock of a run: its own, or that of the run around it. */
export interface RunLock {
  readonly held: HeldLock;
  /**
   * Waits for the lock and for all that the child needs to start. The reason of `aborted` is the
   * cause of the end.
   */
  readonly acquire: (aborted: AbortSignal) => Promise<Acquisition>;
  /**
   * Whether later runs would find other masters than these, so that the lock is worth nothing.
   * Called at each extension.
   */
  readonly areMastersReplaced: () => boolean;
  /** Subscribes to the requests of operators; null: they are not received. */
  readonly listen: Listen | null;
  /** The entry for the history of the lock that is about to be released; null: none. */
  readonly entryOf: (claim: Claim, record: RunRecord) => string | null;
}

export interface RunHost {
  readonly clock: Clock;
  readonly random: Random;
  readonly report: ReportRun;
  /** What the events have shown so far. */
  readonly seen: () => Seen;
  /** `report` is not called before this has returned. */
  readonly startChild: (lease: Lease, timeLeft: TimeLeft, report: ReportChild) => Child;
  /** Called once when a lock that was held is lost, with the facts known by then. */
  readonly onLost: (lease: Lease, record: RunRecord) => void;
  /** Suspends this process, as Ctrl-Z would. */
  readonly suspendUs: () => void;
}

/** The command with everything that it has started. */
export interface Child {
  /** When it is stopped and killed unless a later call moves these deadlines. */
  setDeadlines(timeLeft: TimeLeft): void;
  /** Passes a signal on to the command, and to its group where it leads one. */
  relay(signal: Signal): void;
  /** Sends a signal to every process, once each, and SIGKILL where the grace is over. */
  stop(signal: Signal): void;
  /** Sends SIGKILL to every process until none is left. */
  kill(): void;
  /** Leaves alone what the command has left behind. */
  keep(): void;
}

export type ChildEvent =
  | { readonly kind: 'started'; readonly pid: number }
  | ChildEnd
  /**
   * The guard has begun to stop the tree: a deadline has passed, or (`isStarved`) ending the tree
   * under the CPU quota could take until the last one.
   */
  | { readonly kind: 'stopping'; readonly isStarved: boolean }
  /** One of the two guards has died, and the other one ends the tree; or both have died. */
  | { readonly kind: 'guard-lost' }
  /** No process is left but these. The last event, and after `exited`. */
  | { readonly kind: 'swept'; readonly unkillable: readonly Unkillable[] };

/** The end of the command itself, reported once, also where it was not started. */
export interface ChildEnd {
  readonly kind: 'exited';
  readonly exit: ChildExit;
  /** The number of leftover processes at that moment. */
  readonly leftCount: number;
  /** How long ago that was, at least: more than a moment where this process was suspended. */
  readonly agoMs: number;
}

export type ReportChild = (event: ChildEvent) => void;

/** Both in ms from the call. */
export type TimeLeft = () => readonly [stopInMs: number, killInMs: number];

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
