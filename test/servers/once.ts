// What suites and benchmarks install for themselves, in the user's cache: each once.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * The folder of an installation, made by `install` unless it exists. `contents`: all that decides
 * what is in it. An incomplete installation is never used.
 */
export function once(
  name: string,
  contents: readonly string[],
  install: (cwd: string) => void,
): string {
  const home = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const digest = createHash('sha256').update(JSON.stringify(contents)).digest('hex').slice(0, 12);
  const folder = join(home, 'redlock-run', `${name}-${digest}`);
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  try {
    install(unfinished);
    renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return folder;
}
