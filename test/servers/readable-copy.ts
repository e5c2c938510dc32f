// Copies of the built program. One is for tests that become a user without rights: the checkout may
// lie below a folder that only its owner may enter, such as /root.

import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isStandalone, pathOf } from './run-cli.ts';
import { scratchFolder } from './watchdog.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const parts = ['package.json', 'bin', 'dist'];
/** Of dist/: large, and programs by themselves. */
const executables = ['dist/redlock-run', 'dist/redlockctl'].map((name) => join(root, name));

/** Copies the program, and other parts of the checkout. */
function copyTo(folder: string, others: readonly string[]): void {
  const filter = (path: string) => !executables.includes(path);
  for (const part of [...parts, ...others])
    cpSync(join(root, part), join(folder, part), { recursive: true, filter });
}

let copyCount = 0;

/** The path of a redlock-run of its own, as one that may be replaced while it runs. */
export function ownProgram(): { readonly path: string; readonly folder: string } {
  copyCount += 1;
  const folder = join(scratchFolder(), `program${copyCount}`);
  mkdirSync(folder);
  copyTo(folder, []);
  return { folder, path: join(folder, 'bin', 'redlock-run.js') };
}

let folder: string | null = null;

/** A folder that every user may read, with a copy of the program and the fixtures of a suite. */
function readableFolder(): string {
  if (folder !== null) return folder;
  folder = join(scratchFolder(), 'readable');
  mkdirSync(folder);
  copyTo(folder, ['test/supervision/fixtures']);
  execFileSync('chmod', ['-R', 'a+rX', folder]); // The checkout may have been made with umask 077.
  chmodSync(scratchFolder(), 0o711);
  return folder;
}

/** The path of redlock-run for every user of this machine. */
export const readableProgram = (): string =>
  isStandalone ? pathOf('redlock-run') : join(readableFolder(), 'bin', 'redlock-run.js');

/** The path of a fixture of `supervision` for every user of this machine. */
export const readableFixture = (name: string): string =>
  join(readableFolder(), 'test/supervision/fixtures', name);
