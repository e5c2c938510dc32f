// Where redlock-guard is: beside the program in a checkout, an archive and the executable, and in a
// package for this system and processor otherwise. src/guard/README.md explains what it does.

import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { version } from '../system/version.ts';
import { ConfigError } from '../text/errors.ts';
import { RunError } from './preconditions.ts';

export const guardName = 'redlock-guard';

/**
 * @param folder that of the program
 * @throws ConfigError where the installation lacks it
 */
export function guardFile(folder: string): string {
  const file = findGuard(folder);
  if (file === null) throw new ConfigError(`guard: ${whyMissing(folder)}`);
  return file;
}

/** Why no run of the program in this folder could guard its command; null: it could. */
export function whyUnguarded(folder: string): string | null {
  const file = findGuard(folder);
  return file === null ? whyMissing(folder) : whyGuardFails(file, []);
}

const packageName = `@redlock-run/guard-${process.platform}-${process.arch}`;

function findGuard(folder: string): string | null {
  const beside = path.join(folder, guardName);
  if (isExecutable(beside)) return beside;
  try {
    const resolve = createRequire(path.join(folder, 'index.js')).resolve;
    const file = path.join(path.dirname(resolve(`${packageName}/package.json`)), guardName);
    return isExecutable(file) ? file : null;
  } catch {
    return null; // The package is not installed.
  }
}

function whyMissing(folder: string): string {
  const advice = process.versions.bun
    ? `install redlock-run again: it brings ${path.join(folder, guardName)}`
    : `npm install ${packageName}@${version}, with --global if redlock-run was installed so`;
  return `${guardName} is missing: no process could guard the command (${advice})`;
}

/** Why a guard cannot do its work on this machine; null: it can. Starts one, and no command. */
function whyGuardFails(file: string, options: readonly string[]): string | null {
  const trial = spawnSync(file, [...options, '--check'], {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 10_000,
  });
  if (trial.error) return trial.error.message;
  if (trial.status === 0) return null;
  const [line = ''] = trial.stderr.split('\n');
  return line.replace(`${guardName}: `, '') || `it ended with ${trial.status ?? trial.signal}`;
}

/** @throws RunError where this machine does not allow a PID namespace */
export function checkIsolation(file: string): void {
  const why = process.platform === 'linux' ? whyGuardFails(file, ['--isolate']) : noNamespaces;
  if (why === null) return;
  throw new RunError(
    `--isolate: not possible on this machine: ${why} (leave it out, or allow PID namespaces)`,
  );
}

const noNamespaces = 'there are no PID namespaces on this system';

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
