// Where --report goes, checked before the lock is taken: the report is written when the command
// has run, which is too late to find out that there is no such directory. What counts for a file
// is its directory, for the report is written beside it and renamed; what is written in place
// counts itself.

import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { OutputError, type ReportTarget, reportTarget } from './report-target.ts';
import { fileTrouble, quoted, UsageError } from './trouble.ts';

/**
 * The absolute path, or null when there is none.
 * @throws UsageError for what is no file, OutputError for one that may not be written
 */
export function checkReportPath(report: string | null, cwd: string): string | null {
  if (report === null) return null;
  if (report === '') throw new UsageError('--report: "": empty (name a file)');
  const path = resolve(cwd, report);
  const directory = dirname(path);
  const parent = find(directory);
  if (parent === null) throw new UsageError(`--report: ${quoted(directory)}: no such directory (make it first)`);
  if (!parent.isDirectory())
    throw new UsageError(`--report: ${quoted(directory)}: not a directory (name another file)`);
  const target = targetOf(path);
  if (target.kind === 'directory' || report.endsWith('/')) {
    throw new UsageError(`--report: ${quoted(report)}: is a directory (name a file)`);
  }
  const written = target.kind === 'replaced' ? dirname(target.path) : target.path;
  try {
    accessSync(written, constants.W_OK);
  } catch (error) {
    throw fault(written, error, 'name a file that can be written');
  }
  return path;
}

function targetOf(path: string): ReportTarget {
  try {
    return reportTarget(path);
  } catch (error) {
    throw error instanceof OutputError ? error : fault(path, error, 'name another file');
  }
}

/** Null when nothing is there, or nothing that may be looked at. */
function find(path: string): Stats | null {
  try {
    return statSync(path);
  } catch (error) {
    if (fileTrouble(error) === 'no such file') return null;
    throw fault(path, error, 'name another file');
  }
}

function fault(path: string, error: unknown, whatToDo: string): UsageError | OutputError {
  const { code } = error as NodeJS.ErrnoException;
  const line = `--report: ${quoted(path)}: ${fileTrouble(error, 'written')} (${whatToDo})`;
  return ['EACCES', 'EPERM', 'EROFS'].includes(code ?? '') ? new OutputError(line) : new UsageError(line);
}
