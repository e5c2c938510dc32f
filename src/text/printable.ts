// Text of others, such as a server's words, a lock's value or a host's name, made fit for a
// terminal, a log or JSON: one line, nothing in it that acts, no longer than it should be.

/**
 * Control characters (C0, DEL, C1), separators of lines and paragraphs, and what turns the
 * direction of text around.
 */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** The text with what would break the line, or act on the terminal, written as escapes. */
export function oneLine(text: string): string {
  return text.replace(unprintable, (character) =>
    character === '\n' ? '\\n' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The same, cut to so many characters with `...` behind them. */
export function printable(text: string, mostChars = 80): string {
  // Cut before and after: escaping a text of megabytes takes longer than there is, and makes it
  // longer.
  const line = oneLine(text.slice(0, mostChars + 1));
  return line.length > mostChars ? `${line.slice(0, mostChars)}...` : line;
}
