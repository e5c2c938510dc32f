// The live processes among those that a test has started: each carries the mark of its run in its
// environment, and passes it on. Reads /proc; without it, none is found. *Note:* a process with an
// environment of its own, without the mark, is not found.

import { allPids, procText } from './proc.ts';
import { isAlive } from './processes.ts';

export const MARK = 'REDLOCK_TEST_RUN';

export interface Survivor {
  pid: number;
  command: string;
}

/** The live processes that carry one of these values of the mark. */
export function survivorsOf(...ids: readonly string[]): Survivor[] {
  if (ids.length === 0) return [];
  const marks = new Set(ids.map((id) => `${MARK}=${id}`));
  const isMarked = (pid: number) =>
    procText(pid, 'environ')
      .split('\0')
      .some((variable) => marks.has(variable));
  return allPids()
    .filter((pid) => pid !== process.pid && isMarked(pid) && isAlive(pid))
    .map((pid) => ({ pid, command: procText(pid, 'cmdline').split('\0').join(' ').trim() }));
}
