// Lines broken between words, to fit the columns of a terminal. *Note:* string-width
// takes as long to load as Node starts, so it is only for what is shown to people.

import stringWidth from 'string-width';
import type { Tone, TonedLine } from './colour.ts';

/**
 * The line in rows of at most `columns`, broken between words; spaces between words stay. Only a
 * word that is wider has a row that is wider. Each further row begins `hanging` columns behind
 * the beginning of the line.
 */
export function rowsOf(line: string, columns: number, hanging = 0): string[] {
  const [margin = ''] = /^ */.exec(line) ?? [];
  const indent = ' '.repeat(Math.min(margin.length + hanging, Math.floor(columns / 2)));
  const rows: string[] = [];
  let row = margin;
  for (const [, gap = '', word = ''] of line.slice(margin.length).matchAll(/( *)([^ ]+)/g)) {
    if (row.trim() !== '' && stringWidth(row + gap + word) > columns) {
      rows.push(row);
      row = indent + word;
    } else row += gap + word;
  }
  return [...rows, row];
}

/**
 * Lines, such as those of a table, to fit the columns of a terminal: what is wider goes on in
 * the next row. null: no terminal, which changes nothing.
 */
export function fitted(text: string, columns: number | null): string {
  if (columns === null) return text;
  return text
    .split('\n')
    .flatMap((line) => (stringWidth(line) <= columns ? [line] : rowsOf(line, columns, 4)))
    .join('\n');
}

/** The same for lines with a tone: what goes on in the next row keeps it. */
export function fittedLines(lines: readonly TonedLine[], columns: number | null): TonedLine[] {
  return lines.flatMap(({ text, tone }) =>
    fitted(text, columns)
      .split('\n')
      .map((row) => ({ text: row, tone })),
  );
}

/** Lines of one tone; the text may end with a newline. */
export function toned(text: string, tone: Tone): TonedLine[] {
  if (text === '') return [];
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => ({ text: line, tone }));
}
