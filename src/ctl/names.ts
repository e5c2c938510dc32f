// Names of locks on the command line that look like patterns. Only `list` and `top` take patterns.

import { quoted } from '../text/foreign-text.ts';

/** The option by which a verb takes such a NAME as it is. */
export const literal = '--literal';

export function isPattern(name: string): boolean {
  return /[*?[]/.test(name);
}

/** A name as a user types it behind a verb. */
export function asArgument(name: string): string {
  return isPattern(name) ? `${quoted(name)} ${literal}` : quoted(name);
}
