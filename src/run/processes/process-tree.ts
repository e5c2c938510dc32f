// What can be done with the processes of one command. kept-tree.ts: as the kernel keeps them for a
// child subreaper (Linux). seen-tree.ts: as far as they are seen in looks at all processes.

import type { Signal } from '../supervisor.ts';

export interface ProcessTree {
  /** To be called from time to time: reaps what has ended, or remembers what is there. */
  look(): void;
  /** A signal for the command: to its group where it leads one. */
  relay(signal: Signal): void;
  /** How many processes are alive, the command included. 0 only when that is certain. */
  countAlive(): number;
  /** Sends the signal to each, and SIGCONT after it: a stopped process could not act on it. */
  stop(signal: Signal): void;
  /** SIGKILL to each until none is left. Resolves with those that cannot be killed. */
  kill(): Promise<readonly number[]>;
}

/** A process, told apart from a later one of the same number. */
export interface ProcessId {
  readonly pid: number;
  /** As the process table tells it; absent: the number alone counts. */
  readonly startedAt?: number;
}

/** The command itself, once it has been started. */
export interface RunningCommand {
  readonly pid: number;
  /** It has stayed in the caller's process group; otherwise it leads a session of its own. */
  readonly isForeground: boolean;
  /** It runs in a PID namespace of its own (--isolate); the pid is that of unshare(1). */
  readonly hasNamespace: boolean;
}

/** A process that is still there so long after SIGKILL is in an uninterruptible wait. */
export const undyingMs = 10_000;

/** False where we may not. A process that is gone already needs no signal. */
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
