// The folder that the program works in, as a path, also when it has been removed meanwhile, as
// checkouts of CI are. Such a folder still is one, in which sh(1) and flock(1) work without a word;
// only its path is gone, and Node throws when asked for it. On Linux another path leads there.

import { existsSync } from 'node:fs';

const itself = '/proc/self/cwd';

/** Absolute; null: it has been removed, and here nothing else leads to it. */
export function workingFolder(): string | null {
  try {
    return process.cwd();
  } catch {
    return existsSync(itself) ? itself : null;
  }
}
