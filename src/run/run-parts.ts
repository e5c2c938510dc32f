// What one run is made of and what it comes to: its settings, the parts that it is given, how it
// ended. Contracts only. The simulator keeps them too, with parts of its own.

import type { Clock, Random } from '../lock/ports.ts';
import type { HeldLock, Lease } from '../lock/redlock.ts';
import type { Claim } from '../lock/types.ts';
import type { Acquisition } from '../lock/wait.ts';
import type { Child } from './child.ts';
import type { ReportRun } from './events.ts';
import type { Ending, Signal } from './supervisor.ts';

export interface RunSettings {
  /** From the stop signal to SIGKILL. */
  readonly graceMs: number;
  /** SIGKILL comes at least so long before the end of validity. */
  readonly marginMs: number;
  /** Both: the stop signal comes at least so long before it. */
  readonly reserveMs: number;
  /** From the start of the last confirmed round to the next extension. */
  readonly extendEveryMs: number;
  readonly masterTimeoutMs: number;
  readonly stopSignal: Signal;
  readonly holdAtLeastMs: number;
  readonly maxRunMs: number | null;
  readonly keepsBackground: boolean;
}

/** The guard as a run uses it: see guard/. */
export interface GuardLink {
  /** The lease has been confirmed: unless told anew, stop and kill the command in so many ms. */
  setDeadlines(stopInMs: number, killInMs: number): void;
  /** Nothing is left to guard. */
  done(): void;
}

/** What a run is made of; the simulator has its own. */
export interface RunParts {
  readonly redlock: HeldLock;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: ReportRun;
  readonly guard: GuardLink;
  /** Waits for the lock and for all that the child needs to start. The reason of `aborted` is the cause of the ending. */
  readonly acquire: (aborted: AbortSignal) => Promise<Acquisition>;
  readonly startChild: (lease: Lease) => Child;
  /** Stops our own process, as Ctrl-Z would. */
  readonly suspendUs: () => void;
  /** The line for the history of the lock that is about to be released; null: none. */
  readonly recordOf: (claim: Claim, finished: Finished, heldMs: number) => string | null;
}

export interface Finished {
  readonly ending: Ending;
  readonly waitMs: number;
  /** null: the child was never started. */
  readonly runMs: number | null;
  readonly extensionCount: number;
  /** The fencing number that the command was given; null: none. */
  readonly fence: number | null;
  /** How long ago the lock had last been proven ours when it was given up as lost; null: it was not. */
  readonly unconfirmedMs: number | null;
}
