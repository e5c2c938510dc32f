// The JSON object of --report: what happened, for programs that the exit code alone leaves guessing. It is written once, at
// the end, also when the command never ran. The surprise: a regular file is replaced in one step, so that no reader ever
// sees half of it; anything else (a pipe, /dev/stderr) is simply written to. Which is which, report-target.ts says.

import { randomUUID } from 'node:crypto';
import { closeSync, constants, fchmodSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { outcomeOf } from '../run/outcome.ts';
import type { Finished } from '../run/run.ts';
import { openFlags, reportTarget } from './report-target.ts';
import { fileTrouble, quoted } from './trouble.ts';

export interface RunReport {
  /** The first of the names. */
  readonly name: string;
  readonly names: readonly string[];
  readonly outcome: string;
  readonly waitMs: number;
  /** Its place in the queue when it came, from 1; null: it never had to wait in it. */
  readonly place: number | null;
  /** null: the command was never started. */
  readonly runMs: number | null;
  /** The command's own, null unless it exited by itself. */
  readonly exitCode: number | null;
  /** What the command died of. */
  readonly signal: string | null;
  /** What redlock-run itself exits with, 128 + n for a signal. */
  readonly status: number;
  readonly extensions: number;
  /** The fencing number that the command was given; null: none. */
  readonly fence: number | null;
  readonly masters: { readonly ok: readonly string[]; readonly failed: readonly string[] };
}

/** `seen` is what was gathered on the way. */
export function reportOf(
  names: readonly string[],
  { ending, waitMs, runMs, extensionCount, fence }: Finished,
  seen: Pick<RunReport, 'place' | 'masters'>,
  status: number,
): RunReport {
  const { childExit } = ending;
  return {
    name: names[0] ?? '',
    names,
    outcome: outcomeOf(ending),
    waitMs: Math.round(waitMs),
    place: seen.place,
    runMs: runMs === null ? null : Math.round(runMs),
    exitCode: childExit?.kind === 'exited' ? childExit.code : null,
    signal: childExit?.kind === 'signaled' ? childExit.signal : null,
    status,
    extensions: extensionCount,
    fence,
    masters: seen.masters,
  };
}

/** Returns why it could not be written, as a line, or null. */
export function writeReport(file: string, report: RunReport): string | null {
  const text = `${JSON.stringify(report)}\n`;
  try {
    const { path, kind, mode, isPipe } = reportTarget(file);
    if (kind === 'replaced') replace(path, text, mode);
    else writeInto(path, text, kind === 'overwritten' ? openFlags.overwritten : openFlags.appended, isPipe);
    return null;
  } catch (error) {
    return `--report: ${quoted(file)}: ${fileTrouble(error, 'written')}`;
  }
}

function replace(path: string, text: string, mode: number | null): void {
  const draft = `${path}.${randomUUID()}`;
  try {
    const fd = openSync(draft, 'wx', mode ?? 0o666);
    try {
      writeFileSync(fd, text);
      // What the umask takes from a new file it must not take from one that was there.
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

function writeInto(path: string, text: string, flags: number, isPipe: boolean): void {
  // A pipe that nobody reads would keep us for ever; this says so at once. Who does read may take his time.
  const probe = isPipe ? openSync(path, flags | constants.O_NONBLOCK) : null;
  try {
    const fd = openSync(path, flags);
    try {
      writeFileSync(fd, text);
    } finally {
      closeSync(fd);
    }
  } finally {
    if (probe !== null) closeSync(probe);
  }
}
