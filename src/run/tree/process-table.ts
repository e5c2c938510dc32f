// The processes of this machine, as far as we may see them, read from /proc on Linux and asked of ps or PowerShell elsewhere.
// It tells who is there, not who belongs to whom (tree.ts). The surprise: on Linux nothing is forked to read it, because a
// fork fails exactly when a job has used up all processes, which is when it must be stopped.

import { readdirSync, readFileSync } from 'node:fs';
import { foreignTable } from './foreign-table.ts';

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Start time in units that only compare; with the pid it tells a process from a later one of the same number. */
  readonly startedAt: number;
}

export interface Census {
  /** Everyone alive; zombies are not. */
  readonly entries: readonly ProcessEntry[];
  /** False: somebody was listed and gone before he was looked at, so a child of his may be in neither half. */
  readonly isSettled: boolean;
}

export interface ProcessTable {
  /** Not atomic: who forks while it is being read may be missed. */
  read(): Census;
  /** Also of a zombie, whose number is still taken; null when nobody has this number. */
  startedAt(pid: number): number | null;
  /** The environment that the process was started with, as `NAME=value` with zero bytes between; '' where we may not look. */
  environmentOf(pid: number): string;
}

/** Of one process, as /proc/PID/stat tells it. */
interface Stat extends ProcessEntry {
  readonly isAlive: boolean;
}

export const processTable: ProcessTable = process.platform === 'linux' ? procTable() : foreignTable(process.platform);

function procTable(): ProcessTable {
  return {
    read: readProc,
    startedAt: (pid) => parseStat(textOf(`/proc/${pid}/stat`) ?? '')?.startedAt ?? null,
    environmentOf: (pid) => textOf(`/proc/${pid}/environ`) || environmentOfThreads(pid),
  };
}

function readProc(): Census {
  const entries: ProcessEntry[] = [];
  let isSettled = true;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const text = textOf(`/proc/${name}/stat`);
    const stat = text === null ? null : parseStat(text);
    if (stat === null) isSettled = false;
    else if (stat.isAlive) entries.push(stat);
  }
  return { entries, isSettled };
}

/**
 * proc(5): "pid (name) state ppid pgrp session ... num_threads ... starttime", where the name may hold spaces and
 * parentheses. A zombie with more than one thread is a process whose first thread has ended and whose others go on.
 */
export function parseStat(stat: string): Stat | null {
  const end = stat.lastIndexOf(')');
  if (end < 0) return null;
  const fields = stat.slice(end + 2).split(' ');
  const field = (index: number) => Number(fields[index]);
  const hasEnded = fields[0] === 'X' || (fields[0] === 'Z' && field(17) <= 1);
  return {
    pid: Number.parseInt(stat, 10),
    parent: field(1),
    group: field(2),
    session: field(3),
    startedAt: field(19),
    isAlive: !hasEnded,
  };
}

/** A process whose first thread has ended shows its environment in the others only. */
function environmentOfThreads(pid: number): string {
  const stat = textOf(`/proc/${pid}/stat`);
  if (stat === null || !/^ Z /.test(stat.slice(stat.lastIndexOf(')') + 1))) return '';
  const threads = namesIn(`/proc/${pid}/task`).filter((thread) => thread !== String(pid));
  return threads.map((thread) => textOf(`/proc/${pid}/task/${thread}/environ`) ?? '').find((text) => text !== '') ?? '';
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // It ended meanwhile.
  }
}

/** null: the process is gone; '': we may not look. Anything else, as no file descriptors left, must not pass for either. */
function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'latin1');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return null;
    if (code === 'EACCES' || code === 'EPERM') return '';
    throw error;
  }
}
