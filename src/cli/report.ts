// The JSON object of --report, for programs to which the exit code does not say enough. It is
// written once, at the end, also when the command never ran. A regular file is replaced in one
// step, so that no reader sees half of it; anything else (a pipe, /dev/stderr) is written in place.

import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fchmodSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { openFlags, reportTarget } from '../config/report-file.ts';
import { outcomeOf, outcomeOfFailure } from '../run/outcome.ts';
import type { Finished } from '../run/ports.ts';
import { fileError, OutputError } from '../text/errors.ts';
import { jsonLine, quoted } from '../text/foreign-text.ts';

export interface RunReport {
  /** The first of the names. */
  readonly name: string;
  readonly names: readonly string[];
  readonly outcome: string;
  readonly waitMs: number;
  /** The position in the wait queue on arrival, from 1; null: the run never waited in it. */
  readonly position: number | null;
  /** null: the command was never started. */
  readonly runMs: number | null;
  /** The command's own, null unless it exited by itself. */
  readonly exitCode: number | null;
  /** The signal that the command died of. */
  readonly signal: string | null;
  /** What redlock-run itself exits with, 128 + n for a signal. */
  readonly status: number;
  readonly extensions: number;
  /** The fencing number that the command was given; null: none. */
  readonly fence: number | null;
  /** The slot that the command was given, from 1; null: none. */
  readonly slot: number | null;
  /** What --note says, the page of the CI job, and the trace in $TRACEPARENT; null: none. */
  readonly note: string | null;
  readonly url: string | null;
  readonly traceId: string | null;
  readonly masters: MastersSeen;
}

/** Each master stands in one of them. */
export interface MastersSeen {
  /** It has answered, and nothing is wrong with it at the end. */
  readonly ok: readonly string[];
  readonly failed: readonly string[];
  /** It has not answered, or was not asked. */
  readonly silent: readonly string[];
}

/** How long a full pipe may stay full, in ms. */
const longestFullMs = 2_000;

/** The report of a run; `seen` holds the facts that were gathered while it went on. */
export function reportOf(
  names: readonly string[],
  { result, waitMs, runMs, extensionCount, fence }: Finished,
  seen: Pick<RunReport, 'position' | 'slot' | 'masters' | 'note' | 'url' | 'traceId'>,
  status: number,
): RunReport {
  const { childExit } = result;
  return {
    name: names[0] ?? '',
    names,
    outcome: outcomeOf(result),
    waitMs: Math.round(waitMs),
    position: seen.position,
    runMs: runMs === null ? null : Math.round(runMs),
    exitCode: childExit?.kind === 'exited' ? childExit.code : null,
    signal: childExit?.kind === 'signaled' ? childExit.signal : null,
    status,
    extensions: extensionCount,
    fence,
    slot: seen.slot,
    note: seen.note,
    url: seen.url,
    traceId: seen.traceId,
    masters: seen.masters,
  };
}

/** The report of a run that ended with an error instead of a result. */
export function failureReportOf(
  names: readonly string[],
  seen: Pick<RunReport, 'masters' | 'note' | 'url' | 'traceId'>,
  status: number,
): RunReport {
  return {
    name: names[0] ?? '',
    names,
    outcome: outcomeOfFailure(status),
    waitMs: 0,
    position: null,
    runMs: null,
    exitCode: null,
    signal: null,
    status,
    extensions: 0,
    fence: null,
    slot: null,
    ...seen,
  };
}

/** Writes the report. Returns one line that says why it could not be written, or null. */
export function writeReport(file: string, report: RunReport): string | null {
  const text = jsonLine(report);
  try {
    const { path, kind, mode } = reportTarget(file);
    if (kind === 'replaced') replaceFile(path, text, mode);
    else writeInto(path, text, kind === 'overwritten' ? openFlags.overwritten : openFlags.appended);
    return null;
  } catch (error) {
    if (error instanceof OutputError) return error.message;
    return `--report: ${quoted(file)}: ${fileError(error, 'written')}`;
  }
}

/** Writes a file in one step; `mode`: of the file that it replaces, or null. Throws as fs does. */
export function replaceFile(path: string, text: string, mode: number | null): void {
  const draft = `${path}.${randomUUID()}`;
  try {
    const fd = openSync(draft, 'wx', mode ?? 0o666);
    try {
      writeFileSync(fd, text);
      // The umask must not change the mode of a file that existed before.
      if (mode !== null) fchmodSync(fd, mode);
    } finally {
      closeSync(fd);
    }
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/**
 * Writes without blocking. A pipe that stays full for two seconds is given up; a slow reader that
 * goes on reading has all the time it needs.
 */
function writeInto(path: string, text: string, flags: number): void {
  const fd = openSync(path, flags);
  try {
    let rest = Buffer.from(text);
    let fullSince: number | null = null;
    while (rest.length > 0) {
      const count = writtenOf(fd, rest);
      rest = rest.subarray(count);
      fullSince = count > 0 ? null : (fullSince ?? performance.now());
      if (fullSince === null) continue;
      if (performance.now() - fullSince > longestFullMs)
        throw Object.assign(new Error('full'), { code: 'ENXIO' });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  } finally {
    closeSync(fd);
  }
}

/** How many bytes went into a file that was opened without blocking; 0: there is no room now. */
function writtenOf(fd: number, bytes: Buffer): number {
  try {
    return writeSync(fd, bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
    throw error;
  }
}
