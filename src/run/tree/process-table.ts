// The processes of this machine, as far as we may see them, read from /proc on Linux and asked of ps or PowerShell elsewhere.
// It tells who is there, not who belongs to whom (tree.ts). Two surprises: nothing is forked to read it on Linux, because a
// fork fails exactly when a job has used up all processes; and the list is read again as long as somebody on it has gone before
// he was looked at: who forks and ends all the time would always be gone, and his child not listed yet.

import { closeSync, existsSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import type { Census, Numbers, ProcessEntry, ProcessTable } from './census.ts';
import { foreignTable } from './foreign-table.ts';

/** Rounds after the first take a fraction of a ms each; only a machine that does nothing but fork needs so many. */
const mostRounds = 40;
/** While a process becomes another program it shows no environment for a moment; some have none. */
const mostBlankRounds = 5;

export const processTable: ProcessTable =
  process.platform === 'linux' ? { read: readProc, startedAt: startOf } : foreignTable(process.platform);

/** Why this table must not be believed, or null: with the numbers of another namespace we would kill at random. */
export function objectionToTable(): string | null {
  if (process.platform !== 'linux') return null;
  try {
    if (readlinkSync('/proc/self') === String(process.pid)) return null;
    return '/proc shows another PID namespace than ours (mount the right one, as unshare --mount-proc does)';
  } catch {
    return 'there is no /proc to find processes in (mount it)';
  }
}

function readProc(since: number, texts: readonly string[], numbers?: Numbers): Census {
  return numbers ? readNumbers(numbers, since, texts) : readAll(since, texts);
}

/** One look at each, in rising order; nobody is looked at again, and who shows no environment leaves it unsettled. */
function readNumbers({ first, last }: Numbers, since: number, texts: readonly string[]): Census {
  const entries: ProcessEntry[] = [];
  for (let number = first; number <= last; number += 1) {
    // Most of them are gone, and to be told so by an exception takes many times as long.
    if (!existsSync(`/proc/${number}`)) continue;
    const look = lookAt(String(number), since, texts);
    if (typeof look !== 'string') entries.push(look);
  }
  return { entries, isSettled: !entries.some(({ isBlank }) => isBlank) };
}

function readAll(since: number, texts: readonly string[]): Census {
  const seen = new Map<string, ProcessEntry | null>();
  let listed: string[] = [];
  let isSettled = false;
  for (let round = 0; round < mostRounds && !isSettled; round += 1) {
    listed = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    isSettled = true;
    for (const name of listed) {
      if (seen.has(name) && !(seen.get(name)?.isBlank && round < mostBlankRounds)) continue;
      const look = lookAt(name, since, texts);
      if (look === 'gone' || (look !== 'other' && look.isBlank && round < mostBlankRounds)) isSettled = false;
      seen.set(name, typeof look === 'string' ? null : look);
    }
  }
  return { entries: listed.map((name) => seen.get(name)).filter((entry) => !!entry), isSettled };
}

/**
 * What is to be known of one process. gone: it may have lived when it was listed, and have a child that was not listed yet.
 * other: not one of those asked for.
 */
function lookAt(name: string, since: number, texts: readonly string[]): ProcessEntry | 'gone' | 'other' {
  const stat = parseStat(textOf(`/proc/${name}/stat`, true));
  if (!stat?.isAlive) return 'gone';
  if (stat.startedAt < since || stat.parent === kernelThreads) return 'other';
  const environment = environmentOf(stat);
  if (environment === null) return 'gone';
  const { isAlive, isZombie, ...facts } = stat;
  return { ...facts, found: texts.filter((text) => environment.includes(text)), isBlank: environment === '' };
}

function startOf(pid: number): number | null {
  return parseStat(textOf(`/proc/${pid}/stat`, true))?.startedAt ?? null;
}

/** The parent of all kernel threads, which have no environment. */
const kernelThreads = 2;

/** Of one process, as /proc/PID/stat tells it. */
export interface Stat extends Omit<ProcessEntry, 'found' | 'isBlank'> {
  readonly isAlive: boolean;
  readonly isZombie: boolean;
}

/**
 * proc(5): "pid (name) state ppid pgrp session ... num_threads ... starttime", where the name may hold spaces and
 * parentheses. A zombie with more than one thread is a process whose first thread has ended and whose others go on.
 */
export function parseStat(stat: string | null): Stat | null {
  const end = stat?.lastIndexOf(')') ?? -1;
  if (stat === null || end < 0) return null;
  const fields = stat.slice(end + 2).split(' ');
  const field = (index: number) => Number(fields[index]);
  const isZombie = fields[0] === 'Z';
  return {
    pid: Number.parseInt(stat, 10),
    parent: field(1),
    group: field(2),
    session: field(3),
    startedAt: field(19),
    isAlive: fields[0] !== 'X' && !(isZombie && field(17) <= 1),
    isZombie,
  };
}

/** null when it is gone. */
function environmentOf({ pid, isZombie }: Stat): string | null {
  if (!isZombie) return textOf(`/proc/${pid}/environ`);
  // A process whose first thread has ended shows it in the others only.
  const threads = namesIn(`/proc/${pid}/task`).filter((thread) => thread !== String(pid));
  return threads.map((thread) => textOf(`/proc/${pid}/task/${thread}/environ`)).find(Boolean) ?? '';
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // It ended meanwhile.
  }
}

/** Files in /proc have no size to be known before, and there are hundreds: one buffer serves for all of them. */
let buffer = Buffer.allocUnsafe(8 * 1024);

/** `isShort`: the system gives all of it at once. */
function contentOf(file: string, isShort: boolean): string {
  const descriptor = openSync(file, 'r');
  try {
    for (let length = 0; ; ) {
      const byteCount = readSync(descriptor, buffer, length, buffer.length - length, null);
      length += byteCount;
      if (byteCount === 0 || (isShort && length < buffer.length)) return buffer.toString('latin1', 0, length);
      if (length === buffer.length) buffer = Buffer.concat([buffer], 2 * buffer.length);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** null: the process is gone; '?': we may not look. Anything else, as no descriptors left, must not pass for either. */
function textOf(file: string, isShort = false): string | null {
  try {
    return contentOf(file, isShort);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return null;
    if (code === 'EACCES' || code === 'EPERM') return '?';
    throw error;
  }
}
