// The settings, parts and result of one run: types only. The simulator runs it with its own parts.

import type { Listen } from '../lock/holder-channel.ts';
import type { Clock, Random } from '../lock/ports.ts';
import type { HeldLock, Lease } from '../lock/redlock.ts';
import type { Claim } from '../lock/types.ts';
import type { Acquisition } from '../lock/wait.ts';
import type { Child } from './child.ts';
import type { TimeLeft } from './deadlines.ts';
import type { ReportRun } from './events.ts';
import type { RunResult, Signal } from './supervisor.ts';

/** success: only after a command that exited with 0. */
export type HoldOn = 'success' | 'always';

export interface RunSettings {
  /** From the stop signal to SIGKILL. */
  readonly graceMs: number;
  /** SIGKILL is sent at least so long before the end of validity. */
  readonly marginMs: number;
  /** The sum of both: the stop signal is sent at least so long before the end of validity. */
  readonly reserveMs: number;
  /** From the start of the last confirmed round to the next extension. */
  readonly extendEveryMs: number;
  readonly masterTimeoutMs: number;
  readonly stopSignal: Signal;
  readonly holdAtLeastMs: number;
  /** After which runs the lock is kept for so long; absent: always. */
  readonly holdOn?: HoldOn;
  readonly maxRunMs: number | null;
  readonly keepsBackground: boolean;
}

/** The guard as a run uses it: see guard/. */
export interface GuardLink {
  /** The lease is confirmed: stop and kill the command when so much time is left no more. */
  setDeadlines(timeLeft: TimeLeft): void;
  /** Ends the guard: nothing is left to guard. */
  done(): void;
}

/** The parts of a run; the simulator has its own. */
export interface RunParts {
  readonly redlock: HeldLock;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: ReportRun;
  readonly guard: GuardLink;
  /**
   * Waits for the lock and for all that the child needs to start. The reason of `aborted` is the
   * cause of the end.
   */
  readonly acquire: (aborted: AbortSignal) => Promise<Acquisition>;
  readonly startChild: (lease: Lease) => Child;
  /** Suspends this process, as Ctrl-Z would. */
  readonly suspendUs: () => void;
  /** Subscribes to what people ask of the holder; absent: they are not listened to. */
  readonly listen?: Listen;
  /** The line for the history of the lock that is about to be released; null: none. */
  readonly recordOf: (claim: Claim, finished: Finished, heldMs: number) => string | null;
}

export interface Finished {
  readonly result: RunResult;
  readonly waitMs: number;
  /** null: the child was never started. */
  readonly runMs: number | null;
  readonly extensionCount: number;
  /** The fencing number that the command was given; null: none. */
  readonly fence: number | null;
  /** How long ago the lock had last been confirmed when it was lost; null: it was not lost. */
  readonly unconfirmedMs: number | null;
}
