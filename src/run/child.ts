// The command with everything that it has started, as a run sees it: an interface, and the end of
// what a command left behind. guard/guarded-command.ts implements the interface; the simulator has
// its own.

import os from 'node:os';
import type { Clock } from '../lock/ports.ts';
import type { WaitStatus } from './processes/libc.ts';
import type { ChildExit, Signal } from './run-result.ts';

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
  /** Sends a signal to every process, once each; SIGKILL where there is no time for another. */
  stop(signal: Signal): void;
  /** Sends SIGKILL to every process until none is left; resolves with the unkillable ones. */
  kill(): Promise<readonly number[]>;
  /** How many processes are alive, the command included. */
  countAlive(): Promise<number>;
  /** Whether it runs in a PID namespace, which must be ended even when no process is left in it. */
  readonly hasNamespace: boolean;
}

export function exitOf(status: WaitStatus): ChildExit {
  if ('code' in status) return { kind: 'exited', code: status.code };
  const signals = Object.entries(os.constants.signals) as [Signal, number][];
  const [signal] = signals.find(([, number]) => number === status.signalNumber) ?? [];
  // Node has no names for real-time signals.
  if (signal === undefined) return { kind: 'exited', code: 128 + status.signalNumber };
  return { kind: 'signaled', signal };
}

/** The interval between two counts of processes that were sent the stop signal. */
const lookMs = 50;

export interface AftermathParts {
  readonly child: Child;
  /** The number of leftover processes when the command ended. */
  readonly leftCount: number;
  readonly clock: Clock;
  /** Called once with their number, before the wait for their end. */
  readonly onLeftovers: (count: number) => void;
  /** Aborts when their time is up, and they are being killed. */
  readonly killing: AbortSignal;
}

/**
 * Ends the leftover processes of a command before its lock is released, because another run may
 * hold the lock a moment later. Resolves with the unkillable processes, when no others are left.
 */
export async function endLeftovers(parts: AftermathParts): Promise<readonly number[]> {
  const { child, leftCount, clock, onLeftovers, killing } = parts;
  if (leftCount > 0 && !killing.aborted) onLeftovers(leftCount);
  for (let count = leftCount; count > 0 && !killing.aborted; count = await child.countAlive()) {
    await clock.sleep(lookMs, killing);
  }
  return killing.aborted || child.hasNamespace ? await child.kill() : [];
}
