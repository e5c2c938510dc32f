// Where our lines go: stderr, without ever waiting for its reader. The command has the descriptor
// itself. *Note:* a pipe is opened once more, because "do not block" belongs to the open pipe: set on
// the caller's it would reach the command too, and without it a pager that is not scrolled would keep
// us from extending the lock.

import { constants, fstatSync, openSync } from 'node:fs';
import { Socket } from 'node:net';

/** Where lines go, as far as it matters to those who write them. */
export interface Output {
  readonly isTTY?: boolean | undefined;
  /** How wide the terminal is; 0: nobody has told it, as under script(1) in CI. */
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

export interface Stderr {
  readonly output: Output;
  /** Resolves when all has been written, or after a second: then nobody is reading. */
  flush(): Promise<void>;
}

const longestFlushMs = 1_000;

export function openStderr(): Stderr {
  const pipe = openPipe();
  const output = pipe ?? process.stderr;
  // Whoever reads what we say may leave before we do; the command must not suffer for it.
  output.on('error', () => {});
  pipe?.unref();
  const flush = () =>
    new Promise<void>((resolve) => {
      if (pipe === null || pipe.writableLength === 0 || pipe.destroyed) return resolve();
      setTimeout(resolve, longestFlushMs);
      pipe.once('drain', resolve).once('close', resolve);
    });
  return { output, flush };
}

/** null where stderr is no pipe, or where an open file cannot be opened once more. */
function openPipe(): Socket | null {
  try {
    if (!fstatSync(2).isFIFO()) return null;
    const fd = openSync('/proc/self/fd/2', constants.O_WRONLY | constants.O_NONBLOCK);
    return new Socket({ fd, readable: false, writable: true });
  } catch {
    return null;
  }
}
