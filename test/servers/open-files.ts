// How many files a process may have open here. Node raises its own limit as far as it may.

import { spawnSync } from 'node:child_process';

/** A test with a hundred connections, each of which is open at both ends, needs more. */
export const hasFewFiles =
  Number(spawnSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).stdout) < 1_024;
