// Where this program is: the folder from which relative paths are meant.

import { existsSync } from 'node:fs';

const itself = '/proc/self/cwd';

/**
 * The path of the working folder, also when it has been removed meanwhile, as checkouts of CI are.
 * sh(1) and flock(1) work in such a folder; only its path is missing, and Node throws when asked
 * for it. On Linux /proc has another path to it. null: no path leads to it.
 */
export function workingFolder(): string | null {
  try {
    return process.cwd();
  } catch {
    return existsSync(itself) ? itself : null;
  }
}
