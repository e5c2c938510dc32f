// How --help is set, in both programs: entries with a hanging text, 100 columns at most; and the line of --version. It knows no
// option. The surprise: a left side that is too long pushes its text to the right on that line only.

import type { OptionRow } from './option-table.ts';
import { version } from './version.ts';

const width = 100;
const textColumn = 32;

/** One line: `redlock-run 1.2.3`. */
export function renderVersion(program: string): string {
  return `${program} ${version}\n`;
}

/** The lines of some options. */
export function optionEntries(rows: readonly OptionRow[]): string[] {
  return rows.flatMap((row) => entry(flagsOf(row), row.description, textColumn));
}

/** `-w, --wait, --timeout DUR`. */
export function spellingsOf(row: Pick<OptionRow, 'short' | 'long' | 'aliases' | 'argument'>): string {
  const flags = [row.short, row.long, ...(row.aliases ?? [])].filter((flag) => flag !== undefined).join(', ');
  return row.argument === undefined ? flags : `${flags} ${row.argument}`;
}

function flagsOf(row: OptionRow): string {
  return row.short === undefined ? `    ${spellingsOf(row)}` : spellingsOf(row);
}

/** `  left     text`, the text wrapped and hanging at `column`. */
export function entry(left: string, text: string, column: number): string[] {
  const lines: string[] = [];
  let line = `  ${left}`.padEnd(column);
  for (const word of text.split(' ')) {
    if (line.length + word.length > width) {
      lines.push(line.trimEnd());
      line = ' '.repeat(column);
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()];
}
