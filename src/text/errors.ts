// The exit status of both programs, and the errors that end with it. --help and the man pages are
// made from the table, and docs/reference.md is compared with it. A code means the same in both
// programs. redlockctl exits with 75 for a held lock also when it was only asked, so that `until
// redlockctl status x; do sleep 1; done` works. An error is a mistake of the user, shown as one
// line without a stack: `what: which: why (what to do)`. Expected outcomes (busy, unreachable,
// lost) are returned values instead, and bugs are assertions.

import { oneLine } from './foreign-text.ts';

export const exitCode = {
  ok: 0,
  /** doctor --strict, check --succeeded-within and --max-skips. */
  warnings: 1,
  usage: 64,
  unreachable: 69,
  bug: 70,
  output: 74,
  busy: 75,
  config: 78,
  lost: 79,
  maxRun: 124,
  notExecutable: 126,
  notFound: 127,
} as const;

/** A code and its meaning in each program; absent: that program does not exit with it. */
interface ExitCodeRow {
  readonly code: string;
  readonly run?: string;
  readonly ctl?: string;
}

const usageMeaning =
  'usage error on the command line; the same mistake in the environment or a file is 78';

const exitCodeTable: readonly ExitCodeRow[] = [
  { code: '0-255', run: "the command's own, when it ran to its end under a valid lock" },
  { code: '128+N', run: 'the command died of signal N, or redlock-run was told to stop by it' },
  { code: '0', ctl: 'done; status, wait: free; doctor: nothing but warnings at worst' },
  {
    code: '1',
    ctl:
      'doctor --strict: warnings, or things that could not be found out; ' +
      'check: no success within that time, or too many skipped runs',
  },
  { code: '64', run: usageMeaning, ctl: usageMeaning },
  {
    code: '69',
    run:
      'no quorum: too few masters answered to tell whether the lock is held; ' +
      'or this machine cannot start the command now (no process, memory, guard or --isolate)',
    ctl: 'no quorum: too few masters answered to tell whether the lock is held',
  },
  { code: '70', run: 'a bug in redlock-run', ctl: 'a bug in redlockctl' },
  {
    code: '74',
    run:
      'output that was asked for (--help, --version, --dry-run, --report before the run) ' +
      'cannot be written',
    ctl: 'the output could not be written, or no process read it to its end',
  },
  {
    code: '75',
    run:
      'held by someone else for all of the wait, or the caller was gone before the start ' +
      '(-E changes the number)',
    ctl:
      'status, wait, acquire, hold: held by someone else; stop: still held; ' +
      'freeze: frozen already; thaw: frozen anew; ' +
      'break: not broken: another client holds it by now, or the answer was not yes',
  },
  {
    code: '78',
    run:
      'configuration: unreadable, not trusted, invalid, no masters, a server listed twice, ' +
      'a replica, a login or certificate refused, lists of masters that differ (with ' +
      'differingMasters: error), redlock-guard or another part of the installation missing',
    ctl:
      'configuration: unreadable, not trusted, invalid, no masters, a server listed twice, ' +
      'a replica, a part of the installation missing; ' +
      'acquire, hold: lists of masters that differ (differingMasters: error); ' +
      'doctor: errors; check: no history',
  },
  {
    code: '79',
    run:
      'the lock was lost while the command ran, and the command was stopped; or it was stopped ' +
      'for a newer run (--replace) or by redlockctl stop; ' +
      '--reentrant: the enclosing lock was lost',
    ctl:
      'extend, release, check: the lock is not held with this token any more; ' +
      'hold: it was lost, or released for redlockctl stop',
  },
  { code: '124', run: '--max-run was exceeded' },
  { code: '126', run: 'the command cannot be executed' },
  { code: '127', run: 'the command, or the interpreter that it names, was not found' },
  { code: '128+N', ctl: 'acquire, hold, wait: told to stop by signal N' },
];

/** The rows of one program: code and meaning. */
export function exitCodesOf(program: 'run' | 'ctl'): (readonly [code: string, meaning: string])[] {
  return exitCodeTable.flatMap((row) => {
    const meaning = row[program];
    return meaning === undefined ? [] : [[row.code, meaning] as const];
  });
}

/** With a message of one line, whatever is quoted in it. */
class LineError extends Error {
  constructor(message: string) {
    super(oneLine(message));
  }
}

/** A wrong command line: exit 64. */
export class UsageError extends LineError {
  override readonly name = 'UsageError';
  readonly exitCode = exitCode.usage;
}

/** A wrong configuration (file, environment, list of masters): exit 78. */
export class ConfigError extends LineError {
  override readonly name = 'ConfigError';
  readonly exitCode = exitCode.config;
}

/** Output that was asked for cannot be written: exit 74. */
export class OutputError extends LineError {
  override readonly name = 'OutputError';
  readonly exitCode = exitCode.output;
}

/**
 * A value that cannot be read, whatever its source: `"30 potatoes": not a duration (write 30s)`.
 * The caller that knows the source puts it in front, and throws a UsageError or a ConfigError
 * instead.
 */
export class ValueError extends Error {
  override readonly name = 'ValueError';
}

/** Whether node:fs found nothing at a path. */
export function isMissing(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/**
 * Says in words why a file could not be used, from the error that node:fs threw. Where a file is to
 * be written, ENOENT means that its directory is missing.
 * @throws the error itself where no more files may be open
 */
export function fileError(error: unknown, use: 'read' | 'written'): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  // It is not the file: this process may open no more of them.
  if (code === 'EMFILE' || code === 'ENFILE') throw error;
  if (code === 'ENOENT' && use === 'written') return 'no such directory';
  const words: Readonly<Record<string, string>> = {
    ENOENT: 'no such file',
    ENOTDIR: 'no such file',
    EACCES: 'permission denied',
    EPERM: 'permission denied',
    EISDIR: 'is a directory',
    ELOOP: 'too many symbolic links',
    ENAMETOOLONG: 'name too long',
    ENOSPC: 'no space left',
    EDQUOT: 'no space left',
    EROFS: 'is on a read-only file system',
    ENXIO: 'no process reads it',
    ERR_TOO_LONG: 'more than 1 MiB',
  };
  return words[code] ?? `cannot be ${use}: ${code}`;
}
