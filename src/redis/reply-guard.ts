// A bound on what one reply may cost us: a server that sends more bytes than that without having
// answered loses its connection. Without it an endless reply would be kept in memory for as long as
// it comes.

import type { Redis } from 'ioredis';

export class ReplyLimit {
  readonly #mostBytes: number;
  /** Read since the last answer. */
  #bytes = 0;
  #isExceeded = false;

  constructor(client: Redis, mostBytes: number) {
    this.#mostBytes = mostBytes;
    client.on('connect', () => client.stream.on('data', (chunk: Buffer) => this.#count(client, chunk)));
    // A call for a waiter answers nothing, and is complete in itself.
    client.on('message', () => this.answered());
  }

  /** What went wrong with the connection, if it was this; null: it was something else. */
  get trouble(): string | null {
    return this.#isExceeded ? `a reply of more than ${this.#mostBytes} bytes` : null;
  }

  /** A whole reply has come: what comes now belongs to the next. */
  answered(): void {
    this.#bytes = 0;
  }

  #count(client: Redis, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= this.#mostBytes) return;
    this.#isExceeded = true;
    client.stream.destroy();
  }
}
