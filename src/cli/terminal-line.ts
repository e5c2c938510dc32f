// One changing text at the cursor of a terminal: drawn, drawn again in its place, removed. It is
// broken between words where the terminal is narrower. It draws on stderr only, reads nothing, and
// leaves the cursor as it is, so that the end of the program at any moment leaves no trace.

import stringWidth from 'string-width';
import type { Output } from './stderr.ts';

export class TerminalLine {
  readonly #output: Output;
  /** What is on the terminal; empty: nothing. */
  #rows: readonly string[] = [];

  constructor(output: Output) {
    this.#output = output;
  }

  /** Shows `text`, which has no control characters; `paint` adds colours to a row. */
  draw(text: string, paint: (row: string) => string): void {
    const erase = this.#erasure();
    // A row that fills the terminal would leave the cursor in a place that terminals disagree on.
    this.#rows = rowsOf(text, Math.max(1, this.#columns - 1));
    this.#output.write(erase + this.#rows.map(paint).join('\r\n'));
  }

  /** Removes the text. */
  erase(): void {
    const erase = this.#erasure();
    if (erase !== '') this.#output.write(erase);
    this.#rows = [];
  }

  /** Leaves what is on the terminal: another program has moved the cursor. */
  forget(): void {
    this.#rows = [];
  }

  get #columns(): number {
    return this.#output.columns ?? 80;
  }

  #erasure(): string {
    if (this.#rows.length === 0) return '';
    // The terminal may be narrower than when the text was drawn.
    const heights = this.#rows.map((row) =>
      Math.max(1, Math.ceil(stringWidth(row) / this.#columns)),
    );
    const up = heights.reduce((sum, height) => sum + height, 0) - 1;
    return `\r${up > 0 ? `\x1b[${up}A` : ''}\x1b[J`;
  }
}

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
