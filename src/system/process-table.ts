// One process of the system: its parent, session, start and user, and whether it lives. From /proc
// on Linux, by ps(1) on macOS and the BSDs.

import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { userOf } from './caller.ts';

export interface ProcessEntry {
  readonly pid: number;
  /** Of its program; '' where ps(1) shows it. */
  readonly name: string;
  readonly parent: number;
  /** 0 where ps(1) does not show it. */
  readonly session: number;
  /** In units that can only be compared. Tells a process from a later one with the same pid. */
  readonly startedAt: number;
  /** False: it has ended and its parent has not reaped it yet. */
  readonly isAlive: boolean;
}

/** A process, told apart from a later one with the same pid. */
export interface ProcessId {
  readonly pid: number;
  /** As in the process table. */
  readonly startedAt: number;
}

const isLinux = process.platform === 'linux';

/** Why the table cannot be trusted on this system; null: it can. */
export function whyNoTable(): string | null {
  if (!isLinux) return null;
  try {
    if (readlinkSync('/proc/self') !== String(process.pid)) {
      return '/proc shows another PID namespace than ours (mount the right one)';
    }
    readFileSync(`/proc/self/task/${process.pid}/children`);
    return null;
  } catch {
    return 'there is no /proc that lists the children of a process (mount it)';
  }
}

/** null: no such process can be seen. Also finds one that has ended and is not reaped yet. */
export function processEntry(pid: number): ProcessEntry | null {
  if (!isLinux) return shownByPs(pid);
  return parseStat(textOf(`/proc/${pid}/stat`));
}

/** More than the shells and make programs around any run. */
const maxAncestorCount = 64;

/** The entry of this process or of an ancestor; null: `pid` is neither, or cannot be seen. */
export function entryAbove(pid: number): ProcessEntry | null {
  let at = process.pid;
  for (let count = 0; at > 0 && count <= maxAncestorCount; count += 1) {
    const entry = processEntry(at);
    if (at === pid) return entry;
    at = entry?.parent ?? 0;
  }
  return null;
}

/**
 * proc(5): "pid (name) state ppid pgrp session ... num_threads ... starttime", where the name may
 * hold spaces and parentheses. A zombie with more than one thread is a process whose first thread
 * has ended and whose others go on.
 */
function parseStat(stat: string): ProcessEntry | null {
  const end = stat.lastIndexOf(')');
  if (end < 0) return null;
  const fields = stat.slice(end + 2).split(' ');
  const field = (index: number) => Number(fields[index]);
  return {
    pid: Number.parseInt(stat, 10),
    name: stat.slice(stat.indexOf('(') + 1, end),
    parent: field(1),
    session: field(3),
    startedAt: field(19),
    isAlive: fields[0] !== 'X' && !(fields[0] === 'Z' && field(17) <= 1),
  };
}

function shownByPs(pid: number): ProcessEntry | null {
  let output: string;
  try {
    output = execFileSync('ps', ['-p', String(pid), '-o', 'ppid=,stat=,lstart='], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      // The date is read below: under another locale it may be NaN, which is equal to nothing.
      env: { ...process.env, LC_ALL: 'C' },
    });
  } catch {
    return null; // No such process.
  }
  const [parent, state = 'Z', ...started] = output.trim().split(/\s+/);
  const startedAt = Date.parse(started.join(' '));
  const isAlive = !state.startsWith('Z');
  return { pid, name: '', parent: Number(parent), session: 0, startedAt, isAlive };
}

/** Empty: the process has ended, or is hidden (hidepid, ProtectProc of systemd). */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(code)) return '';
    throw error;
  }
}

// The process for which a lock is held in the background. *Note:* a shell may run
// `token=$(redlockctl ...)` in a copy of itself, which ends a moment later: a copy counts as the
// shell that it was made of.

/** null: there is no such process, or it is hidden from this user. */
export function ownerOf(pid: number): ProcessId | null {
  const entry = processEntry(pid);
  return entry && { pid, startedAt: entry.startedAt };
}

/** The caller of this process: its parent, or the original if the parent is a copy. */
export function callerOf(parentPid: number): ProcessId | null {
  let pid = parentPid;
  for (let entry = seen(pid); entry !== null; entry = seen(pid)) {
    if (entry.parent < 1 || !isCopy(entry, seen(entry.parent))) break;
    pid = entry.parent;
  }
  return ownerOf(pid);
}

/** Whether the process lives. One that has ended and waits for its parent (a zombie) does not. */
export function isThere({ pid, startedAt }: ProcessId): boolean {
  const entry = processEntry(pid);
  return entry !== null && entry.startedAt === startedAt && entry.isAlive;
}

function isCopy(entry: ProcessEntry, parent: ProcessEntry | null): boolean {
  if (parent === null || entry.session !== parent.session) return false;
  try {
    const [own, original] = [entry, parent].map(({ pid }) => [
      readlinkSync(`/proc/${pid}/exe`),
      readFileSync(`/proc/${pid}/cmdline`, 'utf8'),
    ]);
    return String(own) === String(original);
  } catch {
    return false; // It belongs to another user, or has ended.
  }
}

/** Linux only: elsewhere a copy cannot be told from its original. */
function seen(pid: number): ProcessEntry | null {
  return process.platform === 'linux' ? processEntry(pid) : null;
}

/** Its real user, as `root (uid 0)`; null: it has ended, or the system does not show it. */
export function processUserOf(pid: number): string | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const [, uid] = /^Uid:\s+(\d+)/m.exec(status) ?? [];
    return uid === undefined ? null : userOf(Number(uid));
  } catch {
    return null;
  }
}
