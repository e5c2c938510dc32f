// The spinner that shows a wait on a terminal: ora, loaded when the first wait is shown. *Note:*
// discardStdin must be false. By default ora reads stdin, which disables Ctrl-C and swallows the
// input that the user types ahead for the command.

import type { Ora } from 'ora';
import type { Output } from './stderr.ts';

export interface Spinner {
  say(text: string): void;
  /** Leaves the line empty and the cursor visible. */
  stop(): void;
}

export function startSpinner(output: Output): Spinner {
  let text = '';
  let isStopped = false;
  let spinner: Ora | null = null;
  import('ora').then(({ default: ora }) => {
    if (isStopped) return;
    spinner = ora({ stream: output as NodeJS.WriteStream, discardStdin: false, text }).start();
  });
  return {
    say(next) {
      text = next;
      if (spinner) spinner.text = next;
    },
    stop() {
      isStopped = true;
      spinner?.stop();
    },
  };
}
