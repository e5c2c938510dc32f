// What this machine allows besides plain servers and runs of the Node program.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { scratchFolder } from '../servers/watchdog.ts';

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
    freezers: ['', '/unified', '/freezer'].map((name) => `/sys/fs/cgroup${name}`).filter(isFreezer),
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
    ['the executable', means.executable !== null],
  ];
  return table.flatMap(([what, isHere]) => (isHere ? [] : [what]));
}

function compiled(name: string): string | null {
  const library = join(scratchFolder(), `${name}.so`);
  const words = ['-shared', '-fPIC', '-o', library, `test/torture/${name}.c`, '-ldl'];
  return spawnSync('cc', words, { timeout: 60_000 }).status === 0 ? library : null;
}

function isFreezer(folder: string): boolean {
  try {
    const group = mkdtempSync(join(folder, 'redlock-torture-'));
    const isIt = ['cgroup.freeze', 'freezer.state'].some((file) => existsSync(join(group, file)));
    rmdirSync(group);
    return isIt;
  } catch {
    return false; // Not mounted, or not ours.
  }
}
