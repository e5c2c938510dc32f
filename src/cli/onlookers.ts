// Those that are told of a run beside the reporter: the command of --notify, and the summary of a
// step in GitHub Actions.

import type { Settings } from '../config/settings.ts';
import type { HolderRecord } from '../lock/value.ts';
import { Notifier } from '../run/notify.ts';
import type { Finished, RunEvent } from '../run/ports.ts';
import { StepSummary } from './step-summary.ts';

export interface Onlooker {
  see(event: RunEvent): void;
  finished(finished: Finished): void;
}

/** `self`: this run, as a holder. `detail`: prints a line with -v. */
export function onlookersOf(
  { notify: script, names, verbosity }: Settings,
  self: Omit<HolderRecord, 'since'>,
  detail: (line: string) => void,
): Onlooker[] {
  const onlookers: Onlooker[] = [];
  if (script !== null) {
    onlookers.push(new Notifier({ script, names, isShown: verbosity === 'verbose' }, self));
  }
  const file = process.env.GITHUB_STEP_SUMMARY;
  if (file) {
    onlookers.push(new StepSummary(file, names, detail));
  }
  return onlookers;
}
