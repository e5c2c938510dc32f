// stderr: how it is written, and whether it may have colours. Writing never waits for the reader: a
// pager that is not scrolled must not keep redlock-run from extending the lock. *Note:* a pipe is
// opened a second time, because O_NONBLOCK belongs to the open file; set on the inherited
// descriptor it would apply to the command as well.

import { constants, fstatSync, openSync } from 'node:fs';
import { Socket } from 'node:net';

/** The part of a stream that the reporter and the notice of a wait need. */
export interface Output {
  readonly isTTY?: boolean | undefined;
  /** The width of the terminal; 0: it is not known, as under script(1) in CI. */
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

export interface Stderr {
  readonly output: Output;
  /** Resolves when everything is written, or after a second, when no process reads the pipe. */
  flush(): Promise<void>;
}

const maxFlushMs = 1_000;

export function openStderr(): Stderr {
  const pipe = openPipe();
  const output = pipe ?? process.stderr;
  // The reader of stderr may end before redlock-run. That must not end the command.
  output.on('error', () => {});
  pipe?.unref();
  const flush = () =>
    new Promise<void>((resolve) => {
      if (pipe === null || pipe.writableLength === 0 || pipe.destroyed) return resolve();
      setTimeout(resolve, maxFlushMs);
      pipe.once('drain', resolve).once('close', resolve);
    });
  return { output, flush };
}

/** null where stderr is not a pipe, or where an open file cannot be opened a second time. */
function openPipe(): Socket | null {
  try {
    if (!fstatSync(2).isFIFO()) return null;
    const fd = openSync('/proc/self/fd/2', constants.O_WRONLY | constants.O_NONBLOCK);
    return new Socket({ fd, readable: false, writable: true });
  } catch {
    return null;
  }
}

/**
 * NO_COLOR beats FORCE_COLOR, and that beats what the terminal can do: no-color.org,
 * force-color.org.
 */
export function mayColour(isTerminal: boolean, environment: NodeJS.ProcessEnv): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = environment;
  if (NO_COLOR) return false;
  if (FORCE_COLOR) return !['0', 'false'].includes(FORCE_COLOR);
  return isTerminal && TERM !== 'dumb';
}

/** As in syslog(3). */
const level = { error: 3, warning: 4, notice: 5, info: 6 } as const;
export type Level = keyof typeof level;

/**
 * `<4>`, by which the journal of systemd stores a line as a warning: only where stderr is the
 * journal itself, whose `<device>:<inode>` $JOURNAL_STREAM has; see sd-daemon(3).
 */
export function prefixOf(name: Level, { JOURNAL_STREAM: stream }: NodeJS.ProcessEnv): string {
  if (!stream) return '';
  try {
    const { dev, ino } = fstatSync(2);
    return stream === `${dev}:${ino}` ? `<${level[name]}>` : '';
  } catch {
    return '';
  }
}
