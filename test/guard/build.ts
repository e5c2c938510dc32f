// The guard that is tested: dist/redlock-guard, or the file in TEST_GUARD, where `sanitized` means
// one that ends at every error of memory and undefined behaviour. And builds for other tests.

import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { scratchFolder } from '../servers/watchdog.ts';

const root = path.resolve(import.meta.dirname, '../..');
export const guardSource = path.join(root, 'src/guard/guard.c');
const warnings = ['-std=c11', '-Wall', '-Wextra', '-Werror'];
const sanitizers = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all', '-g'];

/** Compiles a C file; null: done, otherwise the compiler's errors. */
export function compile(source: string, output: string, flags: readonly string[]): string | null {
  const words = [...warnings, ...flags, '-o', output, source];
  const { error, status, stderr } = spawnSync('cc', words, { encoding: 'utf8' });
  if (error) return error.message;
  return status === 0 ? null : stderr;
}

let known: readonly string[] | undefined;

/** The flags of the sanitizers, or none with a notice where this compiler lacks them. */
export function sanitizerFlags(): readonly string[] {
  if (known) return known;
  const trial = path.join(scratchFolder(), 'trial');
  const why = compile(guardSource, trial, sanitizers) ?? spawnSync(trial).error?.message ?? null;
  if (why !== null) process.stderr.write(`  NOTICE: without sanitizers: ${why.split('\n')[0]}\n`);
  known = why === null ? sanitizers : [];
  return known;
}

let file: string | undefined;

/** The guard under test. */
export function guardFile(): string {
  if (file) return file;
  const wanted = process.env.TEST_GUARD ?? path.join(root, 'dist/redlock-guard');
  file = wanted === 'sanitized' ? sanitized() : wanted;
  return file;
}

function sanitized(): string {
  const output = path.join(scratchFolder(), 'redlock-guard');
  const errors = compile(guardSource, output, sanitizerFlags());
  if (errors !== null) throw new Error(errors);
  // The guard keeps what it allocates at its start until its end.
  process.env.ASAN_OPTIONS = 'detect_leaks=0';
  return output;
}
