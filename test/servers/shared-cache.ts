// One cache folder for all programs that a run of the tests starts, so that V8 compiles them once
// and not once a file. What the cache itself promises is asked in folders of its own.

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './temporary.ts';

/** Made by the process that runs the tests, told to all of its own, and removed at its end. */
export function shareCache(): void {
  if (process.env.TEST_CACHE) return;
  const folder = mkdtempSync(join(temporaryFolder(), 'redlock-test-cache-'));
  process.env.TEST_CACHE = folder;
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
}

export function sharedCache(): string {
  const folder = process.env.TEST_CACHE;
  if (!folder) throw new Error('no TEST_CACHE: vitest.config.ts sets it');
  return folder;
}
