// JSON on one line that is safe to show on a terminal: characters that a terminal would act on are
// escaped, whatever strings the value holds. JSON.parse returns the value unchanged.

import { unicodeEscapeOf, unprintable } from './printable.ts';

/** Ends with a newline. */
export function jsonLine(value: object): string {
  // JSON.stringify escapes C0 and halves of pairs. The others can only stand inside of strings.
  const json = JSON.stringify(value).replace(unprintable, (character) =>
    unicodeEscapeOf(character.charCodeAt(0)),
  );
  return `${json}\n`;
}
