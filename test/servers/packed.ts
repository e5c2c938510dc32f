// The package as a user gets it: packed once for a test file, and installed into empty folders. Its
// one optional dependency is copied from the checkout, so that this needs no network.

import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { scratchFolder } from './watchdog.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));

export interface Packed {
  readonly tarball: string;
  /** The files in it, by their paths. */
  readonly files: readonly string[];
}

/** The package of this checkout, as it was built last. */
export async function pack(): Promise<Packed> {
  const folder = join(scratchFolder(), 'packed');
  mkdirSync(folder);
  const { stdout } = await npm(root, 'pack', '--json', '--pack-destination', folder);
  const [packed] = JSON.parse(stdout);
  return {
    tarball: join(folder, packed.filename),
    files: packed.files.map(({ path }: { path: string }) => path),
  };
}

/** Installs a package into an empty folder, and returns that. */
export async function install({ tarball }: Packed, { hasOptional = true } = {}): Promise<string> {
  const folder = mkdtempSync(join(scratchFolder(), 'installed-'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true }));
  await npm(folder, 'install', '--offline', '--omit=optional', tarball);
  if (hasOptional) addOptional(folder);
  return folder;
}

/** A copy of a folder without the optional package in which that is installed too. */
export function withOptional(folder: string): string {
  const copy = mkdtempSync(join(scratchFolder(), 'installed-'));
  cpSync(folder, copy, { recursive: true, verbatimSymlinks: true });
  addOptional(copy);
  return copy;
}

function addOptional(folder: string): void {
  for (const name of ['koffi', '@koromix'].map((one) => join('node_modules', one)))
    cpSync(join(root, name), join(folder, name), { recursive: true });
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
