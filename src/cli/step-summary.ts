// The line in the summary of a step in GitHub Actions, for a run that waited or was refused: people
// look there when a workflow took long. It is Markdown, appended to the file that
// $GITHUB_STEP_SUMMARY names.

import { appendToFile } from '../config/output-file.ts';
import { outcomeOf } from '../run/outcome.ts';
import { blockerIn, type RunRecord } from '../run/record.ts';
import { oneLine } from '../text/foreign-text.ts';
import { holderText, roughly } from '../text/lines.ts';

/** Returns why it could not be written, or null. */
export function appendSummary(
  file: string,
  names: readonly string[],
  record: RunRecord,
): string | null {
  const holder = blockerIn(record);
  if (holder === null) return null;
  const { waitMs, runMs } = record;
  const which = names.map(code).join(' ');
  const blocker = holder === '' ? 'others in the queue' : code(holderText(holder));
  const waited = `waited ${roughly(waitMs)} for ${blocker}`;
  const ran = runMs === null ? 'did not run' : `ran ${roughly(runMs)}`;
  const line = `- redlock-run ${which}: ${waited}, ${ran}: ${outcomeOf(record)}\n`;
  return appendToFile('GITHUB_STEP_SUMMARY', file, line);
}

/** In a code span, where no markup and no HTML has an effect. */
function code(text: string): string {
  return `\`${oneLine(text).replaceAll('`', "'")}\``;
}
