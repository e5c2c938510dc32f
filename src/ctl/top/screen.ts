// The terminal while `top` runs: the alternate screen, no cursor, single keys. It is restored
// however the process ends, except by SIGKILL, because a shell without cursor and echo looks
// broken.

import type { ReadStream, WriteStream } from 'node:tty';

const enter = '\x1b[?1049h\x1b[?25l';
const leave = '\x1b[?25h\x1b[?1049l';
const endings: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const numbers: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };

// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals send it for arrows
const oneKey = /\x1b[[O][0-9;]*[A-Za-z~]|./gsu;

export class Screen {
  readonly #input: ReadStream;
  readonly #output: WriteStream;
  #isOpen = true;

  constructor(input: ReadStream, output: WriteStream) {
    this.#input = input;
    this.#output = output;
    output.write(enter);
    input.setRawMode(true);
    input.setEncoding('utf8').resume();
    process.once('exit', this.close);
    for (const signal of endings)
      process.once(signal, () => process.exit(128 + (numbers[signal] ?? 0)));
  }

  get columns(): number {
    return this.#output.columns || 80;
  }

  get rows(): number {
    return this.#output.rows || 24;
  }

  /** Calls back with each key, as the bytes that the terminal sends: `q`, or `\x1b[B`. */
  onKey(call: (key: string) => void): void {
    this.#input.on('data', (data) => {
      for (const [key] of String(data).matchAll(oneKey)) call(key);
    });
  }

  /** Shows these lines and nothing else. None may be wider than the screen. */
  draw(lines: readonly string[]): void {
    const shown = lines.slice(0, this.rows);
    // Each line overwrites the old one: clearing the screen first would flicker.
    this.#output.write(`\x1b[H${shown.map((line) => `${line}\x1b[K`).join('\r\n')}\x1b[J`);
  }

  /** Restores the terminal. May be called twice. */
  readonly close = (): void => {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#input.setRawMode(false);
    this.#input.pause();
    this.#output.write(leave);
  };
}
