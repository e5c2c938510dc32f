// The processes of this machine, as far as we may see them, read from /proc on Linux and from ps elsewhere. It tells who is
// there, not who belongs to whom (tree.ts). The surprise: on Linux nothing is forked to read it, because a fork fails exactly
// when a job has used up all processes, which is when it must be stopped.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Start time in units that only compare; with the pid it tells a process from a later one of the same number. */
  readonly startedAt: number;
}

export interface ProcessTable {
  /** Everyone alive; zombies are not. Not atomic: who forks while it is being read may be missed. */
  read(): ProcessEntry[];
  /** Whether the environment that the process was started with has this text. False where we may not look. */
  hasInEnvironment(pid: number, text: string): boolean;
}

export const processTable: ProcessTable =
  process.platform === 'linux'
    ? { read: readProc, hasInEnvironment: (pid, text) => readOrEmpty(`/proc/${pid}/environ`).includes(text) }
    : { read: readPs, hasInEnvironment: () => false };

function readProc(): ProcessEntry[] {
  const entries: ProcessEntry[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const entry = parseStat(readOrEmpty(`/proc/${name}/stat`));
    if (entry) entries.push(entry);
  }
  return entries;
}

/** proc(5): "pid (name) state ppid pgrp session ... starttime", where the name may hold spaces and parentheses. */
export function parseStat(stat: string): ProcessEntry | null {
  const end = stat.lastIndexOf(')');
  if (end < 0) return null;
  const fields = stat.slice(end + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return null;
  const field = (index: number) => Number(fields[index]);
  return { pid: Number.parseInt(stat, 10), parent: field(1), group: field(2), session: field(3), startedAt: field(19) };
}

/** macOS and the BSDs; there `sess` is an address, so the session is left out and the group does its work. */
function readPs(): ProcessEntry[] {
  const text = execFileSync('ps', ['-Axo', 'pid=,ppid=,pgid=,stat=,lstart='], { encoding: 'utf8' });
  return text.split('\n').flatMap((line) => {
    const [pid, parent, group, state = 'Z', ...started] = line.trim().split(/\s+/);
    if (!pid || state.startsWith('Z')) return [];
    const startedAt = Date.parse(started.join(' '));
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), session: 0, startedAt }];
  });
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
