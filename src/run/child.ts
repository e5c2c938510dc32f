// The command with everything that it has started, as a run sees it: an interface. guard/client.ts
// implements it with the guard; the simulator has its own.

import os from 'node:os';
import type { WaitStatus } from './processes/libc.ts';
import type { ChildExit, Signal } from './supervisor.ts';

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
  /** Passes a signal on to the command, and to its group where it leads one. */
  relay(signal: Signal): void;
  /** Sends a signal to every process that is alive. */
  stop(signal: Signal): void;
  /** Sends SIGKILL to every process until none is left; resolves with the unkillable ones. */
  kill(): Promise<readonly number[]>;
  /** How many processes are alive, the command included. */
  countAlive(): Promise<number>;
  /** Whether it runs in a PID namespace, which must be ended even when no process is left in it. */
  readonly hasNamespace?: boolean;
}

export function exitOf(status: WaitStatus): ChildExit {
  if ('code' in status) return { kind: 'exited', code: status.code };
  const signals = Object.entries(os.constants.signals) as [Signal, number][];
  const [signal] = signals.find(([, number]) => number === status.signalNumber) ?? [];
  // Node has no names for real-time signals.
  if (signal === undefined) return { kind: 'exited', code: 128 + status.signalNumber };
  return { kind: 'signaled', signal };
}
