// The bytes of a simulated connection that src/redis reads and writes itself: commands are parsed
// from what is written, and replies to SUBSCRIBE and messages arrive as the bytes that Redis sends.

import type { SimSocket } from './sim-socket.ts';

const bulk = (text: string) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;

export class SimStream {
  readonly #socket: SimSocket;
  /** Channels of SUBSCRIBE, which are answered in order. */
  readonly #asked: string[][] = [];
  #onData: (chunk: Buffer) => void = () => {};
  #onClose: () => void = () => {};

  constructor(socket: SimSocket) {
    this.#socket = socket;
  }

  on(event: 'data' | 'close', listener: (chunk: Buffer) => void): void {
    if (event === 'data') this.#onData = listener;
    else this.#onClose = () => listener(Buffer.alloc(0));
  }

  removeAllListeners(_event: 'data'): void {
    this.#socket.onMessage = (channel, message) =>
      this.#push(`*3\r\n${bulk('message')}${bulk(channel)}${bulk(message)}`);
  }

  /** Of a whole SUBSCRIBE to channels without line breaks. */
  write(bytes: string): void {
    const words = bytes.split('\r\n').filter((_, at) => at > 0 && at % 2 === 0);
    this.#asked.push(words.slice(1));
    this.#socket.onAnswer = () => {
      for (const channel of this.#asked.shift() ?? []) {
        this.#push(`*3\r\n${bulk('subscribe')}${bulk(channel)}:1\r\n`);
      }
    };
    this.#socket.send(words);
  }

  /** What is written in one instant travels together in any case. */
  cork(): void {}

  uncork(): void {}

  /** A message comes as a chunk of its own, in a turn of its own. */
  pause(): void {}

  resume(): void {}

  destroy(): void {
    this.#socket.destroy();
  }

  closed(): void {
    this.#onClose();
  }

  #push(bytes: string): void {
    this.#onData(Buffer.from(bytes));
  }
}
