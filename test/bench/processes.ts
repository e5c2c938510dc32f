// Memory and processor time of programs, from /proc: a run and its guards. Linux only. Memory is
// PSS, which divides shared pages (most of Node itself) by the processes that share them, so the
// sum over all programs is what the machine spends.

import { readdirSync, readFileSync } from 'node:fs';

/** The process and its descendants whose command line passes, and that of each one above. */
export function familyOf(pid: number, isMember: (words: string) => boolean): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .filter((name) => isMember(read(`/proc/${name}/cmdline`)));
  return [pid, ...children.flatMap((child) => familyOf(Number(child), isMember))];
}

/** In MB of 2^20 bytes; 0 of a process that has ended. */
export function pssOf(pid: number): number {
  return Number(/^Pss: +(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) / 1024;
}

/**
 * In MB, for a machine on which no other Node runs: the private memory of all, plus the largest
 * shared part once.
 */
export function aloneOf(pids: readonly number[]): number {
  const parts = pids.map((pid) => {
    const rollup = read(`/proc/${pid}/smaps_rollup`);
    const of = (name: string) =>
      Number(new RegExp(`^${name}: +(\\d+) kB`, 'm').exec(rollup)?.[1] ?? 0) / 1024;
    const own = of('Private_Clean') + of('Private_Dirty');
    return { own, shared: of('Rss') - own };
  });
  return (
    parts.reduce((total, { own }) => total + own, 0) +
    Math.max(...parts.map(({ shared }) => shared))
  );
}

/** User and system time so far in ms, with a grain of 10 ms. */
export function cpuMsOf(pid: number): number {
  const fields = fieldsOf(String(pid));
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 10;
}

/** The same of all processes below this one that have ended and were waited for. */
export function cpuMsOfEnded(): number {
  const fields = fieldsOf('self');
  return (Number(fields[13] ?? 0) + Number(fields[14] ?? 0)) * 10;
}

/**
 * A figure of each thread of some processes, by its id. *Note:* what a thread did is gone with it,
 * so a sum over all of them may fall, and only the same thread is compared with itself.
 */
export type ByThread = ReadonlyMap<string, number>;

/** In ms, without a grain. */
export function exactCpuMsOf(pids: readonly number[]): ByThread {
  return byThread(pids, 'schedstat', /^\d+/m, 1e-6);
}

/** How often each has waited for something so far. */
export function wakeUpsOf(pids: readonly number[]): ByThread {
  return byThread(pids, 'status', /(?<=^voluntary_ctxt_switches:\s+)\d+/m, 1);
}

/** By how much the figures of all threads that are there now have grown. */
export function growth(before: ByThread, after: ByThread): number {
  return [...after].reduce((sum, [id, figure]) => sum + figure - (before.get(id) ?? 0), 0);
}

function byThread(pids: readonly number[], file: string, figure: RegExp, unit: number): ByThread {
  const all = pids.flatMap((pid) => {
    return readdirSync(`/proc/${pid}/task`).map((thread): [string, number] => {
      const found = figure.exec(read(`/proc/${pid}/task/${thread}/${file}`))?.[0];
      return [thread, Number(found ?? 0) * unit];
    });
  });
  return new Map(all);
}

function parentOf(pid: string): number {
  return Number(fieldsOf(pid)[1] ?? 0);
}

/** The fields of stat after the name, which may have spaces in it. */
function fieldsOf(pid: string): string[] {
  const stat = read(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return ''; // It has ended.
  }
}
