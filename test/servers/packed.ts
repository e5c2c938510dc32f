// The package as a user gets it: packed once for a test file, and installed into empty folders. The
// package of its guard has the guard of the checkout, so that this needs no network and no compiler
// for other systems.

import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { writeGuardPackage } from '../../scripts/release/guards.js';
import { scratchFolder } from './watchdog.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));

/** The name of the package of the guard for this machine. */
export const guardPackage = `@redlock-run/guard-${process.platform}-${process.arch}`;

export interface Packed {
  readonly tarball: string;
  /** The files in it, by their paths. */
  readonly files: readonly string[];
}

/** The package of this checkout, as it was built last. */
export function pack(): Promise<Packed> {
  return packFolder(root);
}

/** The package of the guard that was built last. */
export async function packGuard(): Promise<Packed> {
  const folder = mkdtempSync(join(scratchFolder(), 'guard-'));
  const system = `${process.platform}-${process.arch}`;
  writeGuardPackage(folder, system, join(root, 'dist', 'redlock-guard'), '');
  return packFolder(folder);
}

async function packFolder(source: string): Promise<Packed> {
  const folder = join(scratchFolder(), 'packed');
  mkdirSync(folder, { recursive: true });
  const { stdout } = await npm(source, 'pack', '--json', '--pack-destination', folder);
  const [packed] = JSON.parse(stdout);
  return {
    tarball: join(folder, packed.filename),
    files: packed.files.map(({ path }: { path: string }) => path),
  };
}

/** Installs a package into an empty folder, without its guard, and returns that folder. */
export async function install({ tarball }: Packed): Promise<string> {
  const folder = mkdtempSync(join(scratchFolder(), 'installed-'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true }));
  await npm(folder, 'install', '--offline', tarball);
  return folder;
}

/** A copy of a folder in which the guard is installed too. */
export async function withGuard(folder: string): Promise<string> {
  const copy = mkdtempSync(join(scratchFolder(), 'installed-'));
  cpSync(folder, copy, { recursive: true, verbatimSymlinks: true });
  await npm(copy, 'install', '--offline', (await packGuard()).tarball);
  return copy;
}

/** Runs npm; if npm runs the tests, the same npm. */
function npm(cwd: string, ...args: string[]) {
  const script = process.env.npm_execpath;
  const [program, first] = script?.endsWith('.js') ? [process.execPath, [script]] : ['npm', []];
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  return run(program as string, [...(first as string[]), ...args, ...quiet], {
    cwd,
    // The home of the user may be read-only.
    env: { ...process.env, npm_config_cache: join(scratchFolder(), 'npm') },
    timeout: 100_000,
  });
}
