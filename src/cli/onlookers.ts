// Those that watch a run beside the reporter and the hooks: the summary of a step in GitHub
// Actions.

import type { Settings } from '../config/settings.ts';
import type { Finished, RunEvent } from '../run/ports.ts';
import { StepSummary } from './step-summary.ts';

export interface Onlooker {
  see(event: RunEvent): void;
  finished(finished: Finished): void;
}

/** `detail`: prints a line with -v. */
export function onlookersOf({ names }: Settings, detail: (line: string) => void): Onlooker[] {
  const file = process.env.GITHUB_STEP_SUMMARY;
  return file ? [new StepSummary(file, names, detail)] : [];
}
