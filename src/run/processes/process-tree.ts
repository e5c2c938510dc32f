// The processes of one command: an interface. kept-tree.ts: as the kernel keeps them for a child
// subreaper (Linux). seen-tree.ts: as far as they are found among all processes.

import type { Signal } from '../run-result.ts';

export interface ProcessTree {
  /** To be called from time to time: reaps processes that have ended, or notes those that exist. */
  look(): void;
  /** Sends a signal to the command, or to its group where it leads one. */
  relay(signal: Signal): void;
  /** How many processes are alive, the command included. 0 only when that is certain. */
  countAlive(): number;
  /** Whether it is certain that none is alive; looks no further than to the first that is. */
  isEmpty(): boolean;
  /**
   * Looks once: no process is alive, and none is there that no earlier call of this has seen. A
   * chain of forks hides from one look, so several have to agree.
   */
  seemsEnded(): boolean;
  /**
   * About how many there are, without a look at each: also those that have ended and that their
   * parents in the tree have not reaped.
   */
  size(): number;
  /**
   * Sends the signal to each, and SIGCONT after it: a stopped process could not act on it. Looks
   * for no others after `withinMs`, since SIGKILL is due then.
   */
  stop(signal: Signal, withinMs: number): void;
  /** Sends SIGKILL to each until none is left. Resolves with the unkillable ones. */
  kill(): Promise<readonly number[]>;
}

/** A process, told apart from a later one with the same pid. */
export interface ProcessId {
  readonly pid: number;
  /** As in the process table. */
  readonly startedAt: number;
}

/** The command itself, once it has been started. */
export interface RunningCommand {
  readonly pid: number;
  /** Whether it stayed in the caller's process group; otherwise it leads a session of its own. */
  readonly isForeground: boolean;
  /** Whether it runs in a PID namespace of its own (--isolate); the pid is that of unshare(1). */
  readonly hasNamespace: boolean;
}

/** A process that still exists so long after SIGKILL is in an uninterruptible wait. */
export const undyingMs = 10_000;

/** False where that is not permitted. True for a process that has ended: it needs no signal. */
export function send(target: number, signal: Signal): boolean {
  try {
    process.kill(target, signal);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** Sends the signal to each of them, and SIGCONT after it. */
export function sendToAll(pids: readonly number[], signal: Signal): void {
  for (const pid of pids) send(pid, signal);
  if (signal !== 'SIGKILL') for (const pid of pids) send(pid, 'SIGCONT');
}
