// One changing text at the cursor of a terminal, behind a spinner: ora, loaded when the first wait
// is shown. It is broken between words where the terminal is narrower. *Note:* discardStdin must be
// false. By default ora reads stdin, which disables Ctrl-C and swallows the input that the user
// types ahead for the command. The cursor is left as it is, so that the end of the program at any
// moment leaves no trace.

import ora, { type Ora } from 'ora';
import { rowsOf } from './rows.ts';
import type { Output } from './stderr.ts';

/** The text changes once a second, and so does the spinner. */
const everyMs = 1_000;
/** What ora writes before the first row, and the column that a terminal keeps free. */
const reservedColumns = 3;

export class TerminalLine {
  readonly #output: Output;
  readonly #mayWrite: () => boolean;
  readonly #spinner: Ora;
  #isForgetting = false;

  /** `mayWrite`: asked before each write; false while the terminal is another program's. */
  constructor(output: Output, mayWrite: () => boolean, hasColour: boolean) {
    this.#output = output;
    this.#mayWrite = mayWrite;
    this.#spinner = ora({
      stream: this.#stream(),
      isEnabled: true,
      discardStdin: false,
      hideCursor: false,
      interval: everyMs,
      color: hasColour ? 'cyan' : false,
    });
  }

  /** Shows `text`, which has no control characters; `paint` adds colours to a row. */
  draw(text: string, paint: (row: string) => string): void {
    const rows = rowsOf(text, Math.max(1, this.#columns - reservedColumns));
    this.#spinner.text = rows.map(paint).join('\n');
    if (this.#spinner.isSpinning) this.#spinner.render();
    else this.#spinner.start();
  }

  /** Removes the text. */
  erase(): void {
    if (this.#spinner.isSpinning) this.#spinner.stop();
  }

  /** Leaves what is on the terminal: another program has moved the cursor. */
  forget(): void {
    this.#isForgetting = true;
    this.erase();
    this.#isForgetting = false;
  }

  get #columns(): number {
    return this.#output.columns ?? 80;
  }

  /** What ora uses of a terminal. */
  #stream(): NodeJS.WriteStream {
    const write = (text: string) => {
      if (!this.#isForgetting && this.#mayWrite()) this.#output.write(text);
      return true;
    };
    const columns = () => this.#columns;
    const stream = {
      isTTY: true,
      get columns() {
        return columns();
      },
      write,
      cursorTo: (column: number) => write(`\x1b[${column + 1}G`),
      moveCursor: (_: number, rows: number) => write(`\x1b[${-rows}A`),
      clearLine: () => write('\x1b[K'),
      once: () => stream,
      removeListener: () => stream,
    };
    return stream as unknown as NodeJS.WriteStream;
  }
}
