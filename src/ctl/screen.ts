// The terminal while `top` runs: the alternate screen, no cursor, single keys. It is restored
// however the process ends, except by SIGKILL, because a shell without cursor and echo looks
// broken.

import { emitKeypressEvents, type Key } from 'node:readline';
import type { ReadStream, WriteStream } from 'node:tty';

const esc = '\x1b';
// Without automatic wrapping the terminal cuts a line that is too wide.
const enter = `${esc}[?1049h${esc}[?25l${esc}[?7l`;
const leave = `${esc}[?7h${esc}[?25h${esc}[?1049l`;

export class Screen {
  readonly #input: ReadStream;
  readonly #output: WriteStream;
  #isOpen = true;

  constructor(input: ReadStream, output: WriteStream) {
    this.#input = input;
    this.#output = output;
    output.write(enter);
    input.setRawMode(true);
    emitKeypressEvents(input);
    process.once('exit', this.close);
  }

  get columns(): number {
    return this.#output.columns || 80;
  }

  get rows(): number {
    return this.#output.rows || 24;
  }

  /** Calls back with each key: `q`, `down`; Ctrl-C, which sends no signal here, is `q`. */
  onKey(call: (key: string) => void): void {
    this.#input.on('keypress', (_, { name = '', ctrl }: Key) => {
      if (!ctrl) call(name);
      else if (name === 'c') call('q');
    });
    this.#input.resume();
  }

  /** Shows these lines and nothing else. */
  draw(lines: readonly string[]): void {
    const shown = lines.slice(0, this.rows);
    // Each line overwrites the old one: clearing the screen first would flicker.
    const text = shown.map((line) => `${line}${esc}[K`).join('\r\n');
    this.#output.write(`${esc}[H${text}${esc}[J`);
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
