// Groups of processes (cgroups, of version 1 or 2): a new one for a run or for a process, which is
// removed when it is empty.

import { existsSync, mkdtempSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { now } from './witness.ts';

/** What a group can limit, and the files for that in the two versions. */
const files = {
  freezer: ['cgroup.freeze', 'freezer.state'],
  memory: ['memory.max', 'memory.limit_in_bytes'],
  cpu: ['cpu.max', 'cpu.cfs_quota_us'],
} as const;
export type Controller = keyof typeof files;

const removedWithinS = 120;
const periodUs = 100_000;

export function newGroup(folder: string): string {
  return mkdtempSync(join(folder, 'redlock-torture-'));
}

/** The folders in which this process can make such groups. */
export function foldersFor(controller: Controller): readonly string[] {
  const names = ['', '/unified', `/${controller}`];
  return names.map((name) => `/sys/fs/cgroup${name}`).filter((folder) => has(folder, controller));
}

function has(folder: string, controller: Controller): boolean {
  try {
    const group = newGroup(folder);
    const isIt = files[controller].some((file) => existsSync(join(group, file)));
    rmdirSync(group);
    return isIt;
  } catch {
    return false; // Not mounted, or not ours.
  }
}

export function putInto(group: string, pid: number): void {
  writeFileSync(join(group, 'cgroup.procs'), String(pid));
}

/** The words in front of a program that is to begin in a group. */
export function beginningIn(group: string): readonly string[] {
  return ['sh', '-c', 'echo $$ >"$0/cgroup.procs" && exec "$@"', group];
}

export function setFrozen(group: string, isFrozen: boolean): void {
  if (isNew(group, 'freezer')) writeFileSync(join(group, 'cgroup.freeze'), isFrozen ? '1' : '0');
  else writeFileSync(join(group, 'freezer.state'), isFrozen ? 'FROZEN' : 'THAWED');
}

export function limitMemory(group: string, bytes: number): void {
  const [file] = isNew(group, 'memory') ? files.memory : files.memory.slice(1);
  writeFileSync(join(group, file ?? ''), String(bytes));
}

/** How many processes the kernel has killed in a group because its memory ran out. */
export function killedForMemory(group: string): number {
  const names = ['memory.events', 'memory.oom_control'].map((name) => join(group, name));
  const text = names.filter(existsSync).map((name) => readFileSync(name, 'latin1'));
  return Number(/^oom_kill (\d+)$/m.exec(text.join('\n'))?.[1] ?? 0);
}

/** `share`: of one core; null: no limit. */
export function limitProcessor(group: string, share: number | null): void {
  const quota = share === null ? null : Math.round(share * periodUs);
  if (isNew(group, 'cpu')) writeFileSync(join(group, 'cpu.max'), `${quota ?? 'max'} ${periodUs}`);
  else writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quota ?? -1));
}

/** Also when it has been removed. */
export function isEmpty(group: string): boolean {
  const file = join(group, 'cgroup.procs');
  return !existsSync(file) || readFileSync(file, 'latin1') === '';
}

/** Removes a group when its last process has ended. */
export async function removed(group: string): Promise<void> {
  for (const endAt = now() + removedWithinS; now() < endAt; await sleep(200)) {
    try {
      return rmdirSync(group);
    } catch {
      // Not yet.
    }
  }
}

function isNew(group: string, controller: Controller): boolean {
  return existsSync(join(group, files[controller][0]));
}
