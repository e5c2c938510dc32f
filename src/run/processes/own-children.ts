// The processes that redlock-run starts for itself: its guard, hooks, servers. When it inherits the
// processes of the command from a dead guard, it must not end these.

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import type { Libc } from './libc.ts';
import { childrenOf, processEntry } from './process-table.ts';

const own = new Set<number>();

/** As spawn() of node:child_process, for a process that is not part of the command. */
export function startOwn(
  file: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess {
  const child = spawn(file, args, options);
  keepApart(child);
  return child;
}

/** Notes that this child was started for redlock-run itself: it is not part of the command. */
export function keepApart(child: Pick<ChildProcess, 'pid' | 'once'>): void {
  const { pid } = child;
  if (pid === undefined) return;
  own.add(pid);
  child.once('exit', () => own.delete(pid));
}

/** The children of redlock-run that are not of the command. */
export class OtherChildren {
  /** Those that existed before the command (`helper & exec redlock-run`): pid and start. */
  readonly #earlier = new Map(
    childrenHere().map((pid) => [pid, processEntry(pid)?.startedAt] as const),
  );

  has(pid: number): boolean {
    const isEarlier = this.#earlier.has(pid);
    return own.has(pid) || (isEarlier && this.#earlier.get(pid) === processEntry(pid)?.startedAt);
  }

  pids(): readonly number[] {
    return [...own, ...this.#earlier.keys()];
  }
}

/** Reaps what Node does not: as the first process of a container, the orphans of all others. */
export function reapOrphans(libc: Libc, command: number | undefined): void {
  // A command with a dead guard is our child, and its status must not be lost.
  for (const pid of childrenHere()) if (!own.has(pid) && pid !== command) libc.reap(pid);
}

/** Empty where the kernel keeps no tree, or they cannot be read now. */
function childrenHere(): number[] {
  try {
    return process.platform === 'linux' ? childrenOf(process.pid) : [];
  } catch {
    return [];
  }
}
