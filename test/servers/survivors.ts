// The live processes among those that a test has started: each carries the mark of its run in its
// environment, and passes it on. Reads /proc; without it, none is found. *Note:* a process with an
// environment of its own, without the mark, is not found.

import { readdirSync, readFileSync } from 'node:fs';
import { isAlive } from './processes.ts';

export const MARK = 'REDLOCK_TEST_RUN';

export interface Survivor {
  pid: number;
  command: string;
}

/** The live processes that carry this value of the mark. */
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
    return []; // It has ended, or belongs to another user.
  }
}
