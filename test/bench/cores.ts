// Pins programs to one core each, so that a client and its masters do not share one, as on machines
// of their own. On shared cores, a client that waits for one server also waits while others run,
// and caches are lost in between; that is measured as well, and reported apart.

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
