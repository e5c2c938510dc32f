// Text for stdout, and when it has been written: a pipe takes only what it has room for, and the
// rest would be lost when the program ends. *Note:* each print is awaited by itself, because Bun
// confirms an empty one before those in front of it, and reports an error only for the print that
// met it.

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

  /** `overLines`: how many lines on the terminal it overwrites, and clears what is below. */
  print(text: string, overLines = 0): void {
    const back = overLines === 0 ? '' : `\x1b[${overLines}F\x1b[J`;
    const written = new Promise<void>((resolve) => {
      this.#sink.write(back + text, (error) => {
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
