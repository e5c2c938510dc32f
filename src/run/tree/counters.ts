// What Linux counts of its processes: the number it gave out last, and how many it has ever started. It looks at no process.
// The surprise: not every /proc is the kernel's own. Some containers show a /proc/loadavg that a program makes and that is
// seconds old, which its file system tells; sandboxes show zeros, which the numbers tell (newcomers.ts).

import { readFileSync, statfsSync } from 'node:fs';

/** At one instant. Threads count as processes here, and have numbers like them. */
export interface Counters {
  /** Given out last in our PID namespace. Numbers rise, and begin anew near 1 before they reach `limit`. */
  readonly newest: number;
  /** Started on this machine since it began, in all namespaces. */
  readonly startedCount: number;
  readonly limit: number;
}

/** Both throw, or tell NaN, where the machine does not tell. */
export interface CounterSource {
  read(): Counters;
  /** Sooner than reading all of them. */
  newest(): number;
}

/** null where there are none to be believed. */
export function findCounters(): CounterSource | null {
  try {
    return ['/proc/loadavg', '/proc/stat'].every(isKernels) ? { read, newest } : null;
  } catch {
    return null; // No Linux, or no /proc.
  }
}

function read(): Counters {
  return {
    newest: newest(),
    startedCount: Number(/^processes (\d+)$/m.exec(textOf('/proc/stat'))?.[1]),
    limit: Number(textOf('/proc/sys/kernel/pid_max')),
  };
}

/** proc(5): "0.20 0.18 0.12 1/80 11206", of which the last is the number of the process started most recently. */
function newest(): number {
  const text = textOf('/proc/loadavg');
  return Number(text.slice(text.lastIndexOf(' ')));
}

/** statfs(2) */
const procMagic = 0x9fa0;

function isKernels(file: string): boolean {
  return statfsSync(file).type === procMagic;
}

function textOf(file: string): string {
  return readFileSync(file, 'latin1');
}
