// stderr: how it is written, whether it may have colours, how the journal of systemd learns the
// level of a line, and the last message of a program that cannot go on. Writing never waits for the
// reader: a pager that is not scrolled must not keep redlock-run from extending the lock. *Note:* a
// pipe is opened a second time, because O_NONBLOCK belongs to the open file; set on the inherited
// descriptor it would apply to the command as well.

import { constants, existsSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { Socket } from 'node:net';
import { ConfigError, exitCode, UsageError } from '../text/errors.ts';
import { oneLine, printableLines } from '../text/foreign-text.ts';

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

const longestFlushMs = 1_000;

export function openStderr(): Stderr {
  const pipe = openPipe();
  const output = pipe ?? process.stderr;
  // The reader of stderr may end before redlock-run. That must not end the command.
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

// Levels for the journal of systemd: a line that begins with `<4>` is stored as a warning. Only
// where stderr is the journal itself, as $JOURNAL_STREAM says; see sd-daemon(3).

/** As in syslog(3). */
export const level = { error: 3, warning: 4, notice: 5, info: 6 } as const;
export type Level = keyof typeof level;

/** Whether stderr is the stream of the journal: `<device>:<inode>`. */
export function isJournal({ JOURNAL_STREAM: stream }: NodeJS.ProcessEnv): boolean {
  if (!stream) return false;
  try {
    const { dev, ino } = fstatSync(2);
    return stream === `${dev}:${ino}`;
  } catch {
    return false;
  }
}

/** `<4>` where stderr is the journal, else nothing. */
function prefixOf(name: Level, environment: NodeJS.ProcessEnv = process.env): string {
  return isJournal(environment) ? `<${level[name]}>` : '';
}

// The last message: one line for a mistake of the user or for something that this machine lacks;
// for a bug in the program a stack as well, with the places in its sources. A stderr that cannot be
// written is ignored.

/** An error with one line for people and the exit code that belongs to it. */
export type Expected = Error & { readonly exitCode: number };

/** Says that what was asked for cannot be written to stdout, and returns the exit code. */
export function reportOutputFailure(program: string, { code }: NodeJS.ErrnoException): number {
  // The reader may have read enough, as head(1) does: no message, but not a success either.
  if (code !== 'EPIPE') process.stderr.write(`${program}: output: cannot be written: ${code}\n`);
  return exitCode.output;
}

/** Writes `redlock-run: what: which: why` to stderr and returns the exit code. */
export function reportFailure(
  program: string,
  error: unknown,
  isUnavailable: (error: unknown) => error is Expected,
): number {
  process.stderr.on('error', () => {});
  if (error instanceof UsageError || error instanceof ConfigError || isUnavailable(error)) {
    process.stderr.write(`${prefixOf('error')}${program}: ${oneLine(error.message)}\n`);
    return error.exitCode;
  }
  const stack = originalStack((error instanceof Error && error.stack) || String(error));
  process.stderr.write(
    `${program}: bug: this should not happen: please report it\n${printableLines(stack)}\n`,
  );
  return exitCode.bug;
}

/**
 * The stack with every place in a bundle replaced by its place in the sources, where the bundle has
 * a source map. The map stands beside the bundle, which does not name it: Node would load it.
 */
export function originalStack(stack: string): string {
  const maps = new Map<string, SourceMap | null>();
  return stack.replace(
    /([^\s(]+\.js):(\d+):(\d+)/g,
    (position, file: string, line: string, column: string) => {
      if (!maps.has(file)) maps.set(file, mapOf(file));
      const origin = maps.get(file)?.findEntry(Number(line) - 1, Number(column) - 1);
      if (!origin || !('originalSource' in origin)) return position;
      const source = origin.originalSource.replace(/^(\.\.\/)+/, '');
      return `${source}:${origin.originalLine + 1}:${origin.originalColumn + 1}`;
    },
  );
}

function mapOf(bundle: string): SourceMap | null {
  const file = `${bundle}.map`;
  return existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : null;
}
