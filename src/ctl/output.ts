// Text for stdout, and when it has been written: a pipe takes only what it has room for, and the
// rest would be lost when the program ends. *Note:* each print is awaited by itself, because Bun
// confirms an empty one before those in front of it, and reports an error only for the print that
// met it.

import stringWidth from 'string-width';
import { oneLine } from '../text/printable.ts';
/** The part of a stream that is used here. */
export interface Sink {
  write(text: string, onWritten: (error?: Error | null) => void): unknown;
}

export class Output {
  readonly #sink: Sink;
  readonly #onError: (error: Error) => void;
  #printed: Promise<unknown> = Promise.resolve();

  constructor(sink: Sink, onError: (error: Error) => void) {
    this.#sink = sink;
    this.#onError = onError;
  }

  print(text: string): void {
    const written = new Promise<void>((resolve) => {
      this.#sink.write(text, (error) => {
        if (error) this.#onError(error);
        resolve();
      });
    });
    this.#printed = Promise.all([this.#printed, written]);
  }

  /** Resolves when everything printed so far has been written, or has failed. */
  async flushed(): Promise<void> {
    await this.#printed;
  }
}

// Tables for people: no borders, two spaces between columns, readable when piped. Programs use
// --json. It is no library, because those that were tried took up to seven seconds for ten thousand
// rows.

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
