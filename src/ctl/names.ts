// Names of locks on the command line that look like patterns. Only `list` and `top` take patterns.

import { quoted } from '../text/foreign-text.ts';

/** The option by which a verb takes such a NAME as it is. */
export const literal = '--literal';

export function isPattern(name: string): boolean {
  return /[*?[]/.test(name);
}

/** A name as a user types it behind a verb: a shell expands nothing in it. */
export function asArgument(name: string): string {
  const shown = quoted(name);
  const isExpanded = /[$`!\\']/.test(shown);
  const plain = shown.slice(1, -1).replaceAll('\\"', '"');
  const word = isExpanded ? `'${plain.replaceAll("'", "'\\''")}'` : shown;
  return isPattern(name) ? `${word} ${literal}` : word;
}
