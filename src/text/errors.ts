// Errors for mistakes of the user, shown as one line without a stack: `what: which: why (what to
// do)`. Expected outcomes (busy, unreachable, lost) are returned values instead, and bugs are
// assertions.

import { exitCode } from './exit-codes.ts';
import { oneLine } from './printable.ts';

/** A wrong command line: exit 64. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly exitCode = exitCode.usage;

  constructor(message: string) {
    super(oneLine(message));
  }
}

/** A wrong configuration (file, environment, list of masters): exit 78. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly exitCode = exitCode.config;

  constructor(message: string) {
    super(oneLine(message));
  }
}

/** Output that was asked for cannot be written: exit 74. */
export class OutputError extends Error {
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

/**
 * Says in words why a file could not be used, from the error that node:fs threw. Where a file is to
 * be written, ENOENT means that its directory is missing.
 */
export function fileError(error: unknown, use: 'read' | 'written' = 'read'): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
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
