// The command with everything that it has started, as a run sees it. guard-client.ts implements
// the interface; the simulator has its own.

import type { ChildExit, Signal } from './record.ts';

/** Both in ms from the call. */
export type TimeLeft = () => readonly [stopInMs: number, killInMs: number];

/** The end of the command itself; there may be leftover processes. */
export interface Ended {
  readonly exit: ChildExit;
  /** The number of leftover processes at that moment. */
  readonly leftCount: number;
  /** How long ago that was, at least: more than a moment where this process was suspended. */
  readonly agoMs: number;
}

export interface Child {
  /** The pid; undefined: it was not started, and `exited` says why. Never rejects. */
  readonly started: Promise<number | undefined>;
  /** Never rejects. */
  readonly exited: Promise<Ended>;
  /** Resolves with the unkillable processes, when no others are left. Never rejects. */
  readonly swept: Promise<readonly number[]>;
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
