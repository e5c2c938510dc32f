// What the kernel tells of a process under /proc. The tests ask hundreds of times a second, so a
// file is read with three system calls, into one buffer. Elsewhere than on Linux nothing is found.

import { closeSync, openSync, readdirSync, readSync } from 'node:fs';

/** The pids of all processes. */
export function allPids(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/** The pids of the children of a process; none when it has ended. */
export function childrenOf(pid: number): number[] {
  let threads: string[] = [];
  try {
    threads = readdirSync(`/proc/${pid}/task`);
  } catch {
    // It has ended.
  }
  const words = threads.flatMap((thread) => procText(pid, `task/${thread}/children`).split(' '));
  return words.filter((word) => word !== '').map(Number);
}

/** Linux lets no argument and no environment grow longer without ulimit -s. */
const buffer = Buffer.allocUnsafe(2 ** 21);

/**
 * The text of a file such as `cmdline`; empty when the process has ended, or belongs to another
 * user.
 */
export function procText(pid: number, file: string): string {
  let opened: number | undefined;
  try {
    opened = openSync(`/proc/${pid}/${file}`, 'r');
    let length = 0;
    // The kernel may give a part of it.
    for (let count = 1; count > 0 && length < buffer.length; length += count)
      count = readSync(opened, buffer, length, buffer.length - length, null);
    return buffer.toString('latin1', 0, length);
  } catch {
    return '';
  } finally {
    if (opened !== undefined) closeSync(opened);
  }
}
