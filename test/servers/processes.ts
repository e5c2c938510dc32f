// Looking at processes from outside, and waiting for what cannot be awaited. Nothing here starts anything.
//
// The surprise: a signal that was sent has not always arrived; a frozen process counts as frozen when the kernel says so.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Whether the process exists; one that has ended and waits for its parent (a zombie) does not. Of a process that is being
 * killed the first thread is a zombie before the others are, and before its sockets are closed.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return processState(pid) !== 'Z' || threadCount(pid) > 1;
}

/** Whether the process is stopped by a signal. On a machine without /proc nobody can tell, and the answer is yes. */
export function isFrozen(pid: number): boolean {
  return ['T', 't', null].includes(processState(pid));
}

/** Polls until the condition is not false, null or undefined, and returns it. Fails with the description after timeoutMs. */
export async function eventually<T>(
  description: string,
  condition: () => T | Promise<T>,
  timeoutMs = 5_000,
): Promise<NonNullable<Exclude<T, false>>> {
  const endAt = performance.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value !== false && value !== null && value !== undefined)
      return value as NonNullable<Exclude<T, false>>;
    if (performance.now() > endAt) throw new Error(`not within ${timeoutMs} ms: ${description}`);
    await sleep(5);
  }
}

function threadCount(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).length;
  } catch {
    return 0;
  }
}

function processState(pid: number): string | null {
  if (!existsSync('/proc/self/stat')) return null;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.charAt(stat.lastIndexOf(')') + 2); // The name before it may contain anything.
  } catch {
    return 'Z';
  }
}
