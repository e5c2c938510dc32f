// Keeps programs to one core each, so that a client and its masters do not share one, as on machines of their own. It measures nothing.
// The surprise: on two cores that are shared, who waits for a server's answer also waits for the other servers to be run, and a program
// gets more or less of its caches thrown out in between; that is measured as well, and told apart.

import { spawnSync } from 'node:child_process';
import os from 'node:os';

/** Whether this machine has two cores and taskset(1). */
export const canKeepApart =
  os.availableParallelism() >= 2 && spawnSync('taskset', ['--version']).status === 0;

/** The core of all masters, and that of all clients. */
export const cores = { masters: 0, clients: 1 };

/** All threads of a program, from now on. */
export function keepTo(core: number, pid: number): void {
  spawnSync('taskset', ['--all-tasks', '--pid', '--cpu-list', String(core), String(pid)]);
}
