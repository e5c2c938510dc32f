// The shell of this machine, and words in its language.

import { realpathSync } from 'node:fs';

/** Whether /bin/sh is dash or busybox. Others add variables of their own to the environment. */
export const isPlainShell = /dash|busybox/.test(realpathSync('/bin/sh'));

/** Words for a shell: the checkout may lie below a folder with a space in its name. */
export function shellLine(...words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", `'"'"'`)}'`).join(' ');
}
