// Whether this process has a controlling terminal. That stdin, stdout or stderr are terminals does
// not matter: a job with all three redirected is still stopped by Ctrl-C, and may still ask for a
// password on /dev/tty.

import { closeSync, openSync, readFileSync } from 'node:fs';
import { devNull } from 'node:os';
import { isatty } from 'node:tty';

/** Found out before the command runs: later a terminal may have closed. */
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
 * Whether our process group is in the foreground of the terminal: then Ctrl-C has reached the child
 * as well. Where that is unknown (no /proc), a run with a terminal counts as in the foreground.
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
 * To be called after the last output, before the exit. At the exit Node and Bun restore the modes
 * of a terminal on stdin, stdout or stderr, even if the command has set others, another program
 * uses the terminal by then, or it has closed (Node aborts then). So these descriptors are closed.
 */
export function leaveTerminal(): void {
  for (const descriptor of terminals) {
    closeSync(descriptor);
    openSync(devNull, 'r+'); // It becomes the lowest free descriptor, which is this one.
  }
}
