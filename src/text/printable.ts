// Text of others, such as a server's words, a lock's value or a host's name, made fit for a
// terminal or a log: one line, nothing in it that acts, no longer than it should be. json.ts does
// it for JSON.

/**
 * Control characters (C0, DEL, C1), separators of lines and paragraphs, the byte order mark, what
 * turns the direction of text around, and halves of surrogate pairs.
 */
export const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}\ufeff]/gu;

/** The text with what would break the line, or act on the terminal, written as escapes. */
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

/** The same, cut to so many characters with `...` behind them. */
export function printable(text: string, mostChars = 80): string {
  // Cut before and after: escaping a text of megabytes takes longer than there is, and makes it
  // longer.
  const line = oneLine(text.slice(0, mostChars + 1));
  return line.length > mostChars ? `${line.slice(0, mostChars)}...` : line;
}

/** `\u001b`; `\x82` for a byte of text that is no UTF-8: see bytes.ts. */
export function escapeOf(character: string): string {
  const code = character.charCodeAt(0);
  return isByte(code) ? `\\x${(code - 0xdc00).toString(16)}` : unicodeEscapeOf(code);
}

/** As JSON has it. */
export function unicodeEscapeOf(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}

function isByte(code: number): boolean {
  return code >= 0xdc80 && code <= 0xdcff;
}
