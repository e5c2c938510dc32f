// The processes that redlock-run starts for itself: its guard, hooks, servers. When it has to end
// what its guard leaves behind, these are told apart from the processes of the command.

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';

const own = new Set<number>();

/** As spawn() of node:child_process, for a process that is not part of the command. */
export function startOwn(file: string, words: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(file, words, options);
  keepApart(child);
  return child;
}

/** This child was started for redlock-run itself: it is not part of the command. */
export function keepApart(child: Pick<ChildProcess, 'pid' | 'once'>): void {
  const { pid } = child;
  if (pid === undefined) return;
  own.add(pid);
  child.once('exit', () => own.delete(pid));
}

/** Whether Node will reap this child of ours. */
export function isOwn(pid: number): boolean {
  return own.has(pid);
}

/** Those of them that have not ended. */
export function ownPids(): readonly number[] {
  return [...own];
}
