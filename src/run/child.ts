// The command with everything that it has started, as a run sees it: a contract. guard/client.ts
// keeps it by the guard; the simulator has one of its own.

import os from 'node:os';
import type { WaitStatus } from './processes/libc.ts';
import type { ChildExit, Signal } from './supervisor.ts';

/** The end of the command itself, which may have left processes behind. */
export interface Ended {
  readonly exit: ChildExit;
  /** How many processes that it started were alive at that moment. */
  readonly leftCount: number;
  /** How long ago it was at least when it was told: more than a moment where we were stopped. */
  readonly agoMs: number;
}

export interface Child {
  /** Its number; undefined: it was not started, and `exited` says why. Never rejects. */
  readonly started: Promise<number | undefined>;
  /** Never rejects. */
  readonly exited: Promise<Ended>;
  /** Passes a signal on to the command, and to its group where it leads one. */
  relay(signal: Signal): void;
  /** Sends a signal to every process that is alive. */
  stop(signal: Signal): void;
  /** SIGKILL to every process until none is left; resolves with those that cannot be killed. */
  kill(): Promise<readonly number[]>;
  /** How many processes are alive, the command included. */
  countAlive(): Promise<number>;
  /** A namespace is held open around it, to be ended also when no process is left in it. */
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
