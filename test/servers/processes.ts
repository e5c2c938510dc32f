// Observes processes from outside, and polls for what cannot be awaited. It starts nothing. *Note:*
// a signal takes effect later than it is sent; a process counts as frozen when the kernel says so.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { generous } from './patience.ts';

/**
 * Whether the process exists; a zombie does not count. While a process is being killed, its first
 * thread becomes a zombie before the others do, and before its sockets are closed.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return processState(pid) !== 'Z' || threadCount(pid) > 1;
}

/**
 * Whether the process is stopped by a signal. Without /proc this is unknown, and the answer is yes.
 */
export function isFrozen(pid: number): boolean {
  return ['T', 't', null].includes(processState(pid));
}

/**
 * Polls until the result is not false, null or undefined; returns it. Fails after timeoutMs, or
 * longer on a machine that is slow.
 */
export async function eventually<T>(
  description: string,
  condition: () => T | Promise<T>,
  timeoutMs = 5_000,
): Promise<NonNullable<Exclude<T, false>>> {
  const limitMs = generous(timeoutMs);
  const endAt = performance.now() + limitMs;
  for (;;) {
    const value = await condition();
    if (value !== false && value !== null && value !== undefined)
      return value as NonNullable<Exclude<T, false>>;
    if (performance.now() > endAt) throw new Error(`not within ${limitMs} ms: ${description}`);
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
