// The line in the summary of a step in GitHub Actions, for a run that waited or was refused: people
// look there when a workflow took long. It is Markdown, appended to the file that
// $GITHUB_STEP_SUMMARY names.

import { outcomeOf } from '../run/outcome.ts';
import type { Finished, RunEvent } from '../run/ports.ts';
import { oneLine } from '../text/foreign-text.ts';
import { holderText, roughly } from '../text/lines.ts';
import { appendToFile } from './output-file.ts';

export class StepSummary {
  readonly #file: string;
  readonly #names: readonly string[];
  readonly #detail: (line: string) => void;
  /** The last holder in the way; '': others were first; null: the run was not refused. */
  #holder: string | null = null;

  constructor(file: string, names: readonly string[], detail: (line: string) => void) {
    this.#file = file;
    this.#names = names;
    this.#detail = detail;
  }

  see(event: RunEvent): void {
    if (event.kind === 'waiting') this.#holder = event.holder || this.#holder || '';
  }

  finished(finished: Finished): void {
    const { cause } = finished.result;
    if (cause.kind === 'busy') this.#holder = cause.holder || this.#holder || '';
    if (this.#holder === null) return;
    const line = lineOf(this.#names, this.#holder, finished);
    const problem = appendToFile('GITHUB_STEP_SUMMARY', this.#file, line);
    if (problem !== null) this.#detail(problem);
  }
}

function lineOf(names: readonly string[], holder: string, finished: Finished): string {
  const { result, waitMs, runMs } = finished;
  const which = names.map(code).join(' ');
  const blocker = holder === '' ? 'others in the queue' : code(holderText(holder));
  const waited = `waited ${roughly(waitMs)} for ${blocker}`;
  const ran = runMs === null ? 'did not run' : `ran ${roughly(runMs)}`;
  return `- redlock-run ${which}: ${waited}, ${ran}: ${outcomeOf(result)}\n`;
}

/** In a code span, where no markup and no HTML has an effect. */
function code(text: string): string {
  return `\`${oneLine(text).replaceAll('`', "'")}\``;
}
