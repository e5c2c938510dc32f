// Whether we have a controlling terminal. Not whether stdin, stdout or stderr are one: a job with all
// three redirected is still stopped by Ctrl-C, and may still ask for a password on /dev/tty.

import { closeSync, openSync, readFileSync } from 'node:fs';
import { devNull } from 'node:os';
import { isatty } from 'node:tty';

/** Looked at before the command: one that is gone passes for none. */
const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));

export function hasTerminal(): boolean {
  // On Windows a session of its own would be a console window of its own.
  if (process.platform === 'win32') return true;
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether the keys of the terminal go to our process group at this moment: then Ctrl-C has reached the child as it has
 * reached us. Where that cannot be seen (no /proc), a run with a terminal is taken to be in front.
 */
export function isInFront(): boolean {
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[2] === fields[5];
  } catch {
    return hasTerminal();
  }
}

/**
 * To be called when all has been said, before we end. Node and Bun give a terminal that they find on
 * stdin, stdout or stderr at the end the modes that it had when they began, also when the command
 * has set others, when another program uses it by then, or when it is gone (Node aborts then).
 */
export function leaveTerminal(): void {
  for (const descriptor of terminals) {
    closeSync(descriptor);
    openSync(devNull, 'r+'); // It becomes the lowest free descriptor, which is this one.
  }
}
