// The processes that redlock-run starts for itself: its guard, hooks, servers. When it inherits the
// processes of the command from a dead guard, it must not end these.

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import type { Libc } from './libc.ts';
import { childrenOf, processEntry } from './process-table.ts';

/** pid and start: a process of the command may get the number of one that has ended. */
const own = new Map<number, number | undefined>();

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
  own.set(pid, startOf(pid));
  child.once('exit', () => own.delete(pid));
}

/** The children of redlock-run that are not of the command. */
export class OtherChildren {
  /**
   * Those that existed before the command (`helper & exec redlock-run`), and as the first process
   * of a container the orphans of others: pid and start.
   */
  #earlier = new Map<number, number | undefined>();

  constructor() {
    this.note(childrenHere());
  }

  /**
   * Notes these children: none is of the command. To be called while that is certain, which is
   * before it has been started, and where its guard lived after they were listed.
   */
  note(children: readonly number[]): void {
    this.#earlier = new Map(children.map((pid) => [pid, startOf(pid)]));
  }

  has(pid: number): boolean {
    return [own, this.#earlier].some((known) => known.has(pid) && known.get(pid) === startOf(pid));
  }
}

/** Reaps what Node does not: as the first process of a container, the orphans of all others. */
export function reapOrphans(
  libc: Libc,
  children: readonly number[],
  command: number | undefined,
): void {
  // A command with a dead guard is our child, and its status must not be lost.
  for (const pid of children) if (!own.has(pid) && pid !== command) libc.reap(pid);
}

function startOf(pid: number): number | undefined {
  return process.platform === 'linux' ? processEntry(pid)?.startedAt : undefined;
}

/** Ours. Empty where the kernel keeps no tree, or they cannot be read now. */
export function childrenHere(): number[] {
  try {
    return process.platform === 'linux' ? childrenOf(process.pid) : [];
  } catch {
    return [];
  }
}
