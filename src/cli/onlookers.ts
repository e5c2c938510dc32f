// Those that are told of a run beside the reporter: the command of --notify, and the summary of a
// step in GitHub Actions. Each is loaded only when it is wanted.

import type { Settings } from '../config/settings.ts';
import type { HolderNote } from '../lock/value.ts';
import type { RunEvent } from '../run/events.ts';
import type { Finished } from '../run/run.ts';

export interface Onlooker {
  see(event: RunEvent): void;
  finished(finished: Finished): void;
}

/** `self`: this run, as a holder. `note`: prints a line with -v. */
export async function onlookersOf(
  { notify: script, names, verbosity }: Settings,
  self: Omit<HolderNote, 'since'>,
  note: (line: string) => void,
): Promise<Onlooker[]> {
  const onlookers: Onlooker[] = [];
  if (script !== null) {
    const { Notifier } = await import('../run/notify.ts');
    onlookers.push(new Notifier({ script, names, isShown: verbosity === 'verbose' }, self));
  }
  const file = process.env.GITHUB_STEP_SUMMARY;
  if (file) {
    const { StepSummary } = await import('./step-summary.ts');
    onlookers.push(new StepSummary(file, names, note));
  }
  return onlookers;
}
