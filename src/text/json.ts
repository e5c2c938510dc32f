// JSON for programs, in one line that people may have on their terminals: whatever others have
// written into it, the line holds no character that acts. What JSON.parse makes of it is the value
// as it was.

import { unicodeEscapeOf, unprintable } from './printable.ts';

/** Ends with a newline. */
export function jsonLine(value: object): string {
  // JSON.stringify escapes C0 and halves of pairs; the rest can stand nowhere but in a string.
  const json = JSON.stringify(value).replace(unprintable, (character) =>
    unicodeEscapeOf(character.charCodeAt(0)),
  );
  return `${json}\n`;
}
