// The JSON object of --report, for programs to which the exit code does not say enough. It is
// written once, at the end, also when the command never ran.

import { writeFile } from '../config/output-file.ts';
import { factsOf } from '../run/outcome.ts';
import { notStarted, type RunRecord } from '../run/record.ts';
import { exitCode } from '../text/errors.ts';
import { jsonLine } from '../text/foreign-text.ts';

/** Each master is in one of them. */
export interface MastersSeen {
  /** It has answered, and nothing is wrong with it at the end. */
  readonly ok: readonly string[];
  readonly failed: readonly string[];
  /** It has not answered, or was not asked. */
  readonly silent: readonly string[];
}

/** What the caller and the masters add to the record. */
export interface Surroundings {
  readonly masters: MastersSeen;
  /** What --note says, the page of the CI job, and the trace in $TRACEPARENT; null: none. */
  readonly note: string | null;
  readonly url: string | null;
  readonly traceId: string | null;
}

export function reportOf(
  names: readonly string[],
  record: RunRecord,
  surroundings: Surroundings,
  conflictExitCode: number,
) {
  const { position, extensionCount: extensions, fence, slot } = record;
  const facts = factsOf(record, conflictExitCode);
  return {
    name: names[0] ?? '',
    names,
    ...facts,
    extensions,
    fence,
    position,
    slot,
    ...surroundings,
  };
}

/** The report of a run that ended with an error, and this exit status. */
export function failureReportOf(
  names: readonly string[],
  surroundings: Surroundings,
  status: number,
) {
  const record = { ...notStarted, cause: { kind: 'aborted' } } as const;
  const outcome = status === exitCode.bug ? 'bug' : 'not-started';
  return { ...reportOf(names, record, surroundings, status), outcome, status };
}

/** Writes the report. Returns one line that says why it could not be written, or null. */
export function writeReport(file: string, report: object): string | null {
  return writeFile('--report', file, jsonLine(report));
}
