// What this machine allows besides plain servers and runs of the Node program.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { scratchFolder } from '../servers/watchdog.ts';
import { foldersFor } from './groups.ts';

/** The words in front of a program that gets mounts of its own. */
export const ownMounts: readonly string[] = ['unshare', '--mount', '--propagation', 'private'];

export interface Means {
  /** The library that shows a program another time of day; null: there is none. */
  readonly clock: string | null;
  /** The library that has a program signal itself at one of its calls; null: there is none. */
  readonly calls: string | null;
  /** Whether a server can get a small disk of its own. */
  readonly disks: boolean;
  /** Whether --isolate works. */
  readonly isolation: boolean;
  /** The folders in which a group of processes can be made and frozen: cgroups. */
  readonly freezers: readonly string[];
  /** Those in which its memory, and its processor time, can be limited. */
  readonly memories: readonly string[];
  readonly processors: readonly string[];
  /** Whether a run can have mounts of its own. */
  readonly mounts: boolean;
  /** Whether the descriptors of another process can be limited. */
  readonly limits: boolean;
  /** Whether a guard can be traced by another program. */
  readonly traces: boolean;
  /** The standalone executable; null: it could not be built. */
  readonly executable: string | null;
}

export function meansOfThisMachine(): Means {
  const works = (words: readonly string[]) =>
    spawnSync('unshare', words, { timeout: 10_000 }).status === 0;
  const executable = resolve('dist/redlock-run');
  return {
    clock: compiled('clock'),
    calls: compiled('calls'),
    disks: works(['--mount', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt']),
    isolation: works(['--pid', '--fork', '--mount-proc', 'true']),
    freezers: foldersFor('freezer'),
    memories: foldersFor('memory'),
    processors: foldersFor('cpu'),
    mounts: works([...ownMounts.slice(1), 'sh', '-c', 'umount -l /proc']),
    limits: spawnSync('prlimit', [`--pid=${process.pid}`], { timeout: 10_000 }).status === 0,
    traces: process.getuid?.() === 0,
    executable: existsSync(executable) ? executable : null,
  };
}

/** For people: what is left out here. */
export function missing(means: Means): readonly string[] {
  const table: readonly [string, boolean][] = [
    ['clocks that are set, faults at a call, slow starts (no C compiler)', means.calls !== null],
    ['full disks', means.disks],
    ['--isolate', means.isolation],
    ['the freezer (no cgroup that may be written)', means.freezers.length > 0],
    ['limits of memory (no cgroup that may be written)', means.memories.length > 0],
    ['quotas (no cgroup that may be written)', means.processors.length > 0],
    ['a /proc that is unmounted or covered', means.mounts],
    ['no free descriptors (no prlimit)', means.limits],
    ['guards that are traced', means.traces],
    ['the executable', means.executable !== null],
  ];
  return table.flatMap(([what, isHere]) => (isHere ? [] : [what]));
}

function compiled(name: string): string | null {
  const library = join(scratchFolder(), `${name}.so`);
  const words = ['-shared', '-fPIC', '-o', library, `test/torture/${name}.c`, '-ldl'];
  return spawnSync('cc', words, { timeout: 60_000 }).status === 0 ? library : null;
}
