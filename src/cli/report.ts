// The JSON object of --report, for programs to which the exit code does not say enough. It is
// written once, at the end, also when the command never ran.

import { factsOf, outcomeOfFailure, type RunFacts } from '../run/outcome.ts';
import type { Finished } from '../run/ports.ts';
import { jsonLine } from '../text/foreign-text.ts';
import { writeFile } from './output-file.ts';

export interface RunReport extends RunFacts {
  /** The first of the names. */
  readonly name: string;
  readonly names: readonly string[];
  /** The position in the wait queue on arrival, from 1; null: the run never waited in it. */
  readonly position: number | null;
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

/** The report of a run; `seen` holds the facts that were gathered while it went on. */
export function reportOf(
  names: readonly string[],
  finished: Finished,
  seen: Pick<RunReport, 'position' | 'slot' | 'masters' | 'note' | 'url' | 'traceId'>,
  conflictExitCode: number,
): RunReport {
  return {
    name: names[0] ?? '',
    names,
    ...factsOf(finished, conflictExitCode),
    extensions: finished.extensionCount,
    fence: finished.fence,
    ...seen,
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
    lossReason: null,
    stoppedBy: null,
    unkillable: [],
    extensions: 0,
    fence: null,
    slot: null,
    ...seen,
  };
}

/** Writes the report. Returns one line that says why it could not be written, or null. */
export function writeReport(file: string, report: RunReport): string | null {
  return writeFile('--report', file, jsonLine(report));
}
