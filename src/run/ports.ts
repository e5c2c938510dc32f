// The ports of a run: its settings, the parts that it is given, and the deadlines of a lease. The
// simulator runs it with parts of its own.

import { deadlineOf, type KeeperPorts } from '../lock/lease-keeper.ts';
import type { Clock } from '../lock/ports.ts';
import type { RunTimings } from '../lock/timings.ts';
import type { Claim, Lease } from '../lock/types.ts';
import type { Acquisition } from '../lock/wait.ts';
import type { Child, TimeLeft } from './child.ts';
import type { ReportRun, RunRecord, Seen, Signal } from './record.ts';

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

/** The parts of a run; the simulator has its own. */
export interface RunParts extends KeeperPorts {
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
  readonly onLost: (lease: Lease, record: RunRecord) => void;
  /** Whose process this is; null: that cannot be read. */
  readonly userOf: (pid: number) => string | null;
  /** Suspends this process, as Ctrl-Z would. */
  readonly suspendUs: () => void;
  /** The line for the history of the lock that is about to be released; null: none. */
  readonly lineOf: (claim: Claim, record: RunRecord) => string | null;
  /** What the events have shown so far. */
  readonly seen: () => Seen;
}
