// Text broken into rows, between words, as wide as a terminal.

import stringWidth from 'string-width';

/** The text in rows of at most `columns`; only a word that is wider has a row that is wider. */
export function rowsOf(text: string, columns: number): string[] {
  const rows: string[] = [];
  for (const word of text.split(' ')) {
    const row = rows.at(-1);
    if (row !== undefined && stringWidth(row) + 1 + stringWidth(word) <= columns)
      rows[rows.length - 1] = `${row} ${word}`;
    else rows.push(word);
  }
  return rows;
}
