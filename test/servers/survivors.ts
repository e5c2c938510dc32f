// Who is still there of the programs that a test started: every process carries the mark of its run in its environment,
// and hands it on to what it starts. Reads /proc; where there is none, nobody is ever found.
//
// The surprise: a process that was given an environment of its own, without the mark, is not seen.

import { readdirSync, readFileSync } from 'node:fs';
import { isAlive } from './processes.ts';

export const MARK = 'REDLOCK_TEST_RUN';

export interface Survivor {
  pid: number;
  command: string;
}

/** The living processes that carry this value of the mark. */
export function survivorsOf(id: string): Survivor[] {
  const wanted = `${MARK}=${id}`;
  return allPids()
    .filter((pid) => pid !== process.pid && read(pid, 'environ').includes(wanted) && isAlive(pid))
    .map((pid) => ({ pid, command: read(pid, 'cmdline').join(' ').trim() }));
}

function allPids(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

function read(pid: number, file: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0');
  } catch {
    return []; // Gone meanwhile, or someone else's.
  }
}
