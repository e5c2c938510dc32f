// Tables for people: no borders, two spaces between columns, readable when piped. Programs use
// --json. It is no library, because those that were tried took up to seven seconds for ten thousand
// rows.

import stringWidth from 'string-width';
import { oneLine } from '../text/foreign-text.ts';

/** Ends with a newline; empty without rows. A cell stays on one line, whatever is in it. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const cells = [head, ...rows.map((row) => row.map(oneLine))];
  const widths = head.map((_, column) =>
    cells.reduce((width, row) => Math.max(width, widthOf(row[column])), 0),
  );
  const padded = (cell: string, column: number) =>
    cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell));
  return cells.map((row) => `${row.map(padded).join('  ').trimEnd()}\n`).join('');
}

function widthOf(cell = ''): number {
  return stringWidth(cell);
}
