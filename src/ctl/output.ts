// What is printed on stdout, and when it has left us: a pipe takes what it has room for, and the rest
// would be lost with the program. *Note:* each print is waited for by itself, because Bun answers an
// empty one before those in front of it, and tells of an error there alone.

/** As much of a stream as is written to. */
export interface Sink {
  write(text: string, onWritten: (error?: Error | null) => void): unknown;
}

export class Output {
  readonly #sink: Sink;
  readonly #onTrouble: (error: Error) => void;
  #printed: Promise<unknown> = Promise.resolve();

  constructor(sink: Sink, onTrouble: (error: Error) => void) {
    this.#sink = sink;
    this.#onTrouble = onTrouble;
  }

  print(text: string): void {
    const written = new Promise<void>((resolve) => {
      this.#sink.write(text, (error) => {
        if (error) this.#onTrouble(error);
        resolve();
      });
    });
    this.#printed = Promise.all([this.#printed, written]);
  }

  /** Resolves when everything printed so far has been taken, or cannot be. */
  async flushed(): Promise<void> {
    await this.#printed;
  }
}
