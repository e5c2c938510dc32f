// Makes foreign text, such as an error of a server, the value of a lock or the name of a host, safe
// for a terminal or a log: one line, no control characters, cut to a length. json.ts does it for
// JSON.

/**
 * Control characters (C0, DEL, C1), separators of lines and paragraphs, the byte order mark,
 * characters that change the direction of text, and halves of surrogate pairs.
 */
export const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}\ufeff]/gu;

/** The text with escapes for every character that breaks the line or acts on the terminal. */
export function oneLine(text: string): string {
  return text.replace(unprintable, (character) =>
    character === '\n' ? '\\n' : escapeOf(character),
  );
}

/** The same, for text that has lines of its own. */
export function printableLines(text: string): string {
  return text.replace(unprintable, (character) =>
    character === '\n' ? character : escapeOf(character),
  );
}

/** The same, cut to `mostChars` characters with `...` behind them. */
export function printable(text: string, mostChars = 80): string {
  // Cut before, because escaping megabytes takes too long, and after, because escapes are longer.
  const line = oneLine(text.slice(0, mostChars + 1));
  return line.length > mostChars ? `${line.slice(0, mostChars)}...` : line;
}

/** `\u001b`; `\x82` for a byte that is not UTF-8: see bytes.ts. */
export function escapeOf(character: string): string {
  const code = character.charCodeAt(0);
  return isByte(code) ? `\\x${(code - 0xdc00).toString(16)}` : unicodeEscapeOf(code);
}

/** The escape that JSON uses. */
export function unicodeEscapeOf(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}

function isByte(code: number): boolean {
  return code >= 0xdc80 && code <= 0xdcff;
}
