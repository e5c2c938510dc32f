// The folder that the program works in, as a path, also when it has been removed meanwhile, as checkouts of CI are. Such a folder
// still is one, in which sh(1) and flock(1) work without a word; only its path is gone, and Node throws when asked for it. The
// surprise: process.cwd is replaced then, because execa asks it, too. On Linux another path leads there, in us and in whoever
// we start.

import { existsSync } from 'node:fs';

const itself = '/proc/self/cwd';

/** Absolute; null: it has been removed, and here nothing else leads to it. */
export function workingFolder(): string | null {
  try {
    return process.cwd();
  } catch {
    if (!existsSync(itself)) return null;
    process.cwd = () => itself;
    return itself;
  }
}
