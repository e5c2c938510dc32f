// A minimal Redis client: commands out and replies in, over a socket, one after the other. It
// shares no code with src/ or with a package, so that the clients beside it are independent.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export type Reply = string | number | null;

export class RespClient {
  readonly #socket: Socket;
  #received = '';

  constructor(socketPath: string) {
    this.#socket = connect(socketPath).setEncoding('latin1');
    this.#socket.on('data', (text) => {
      this.#received += text;
    });
  }

  /** One at a time. Rejects with the error of the server. */
  async send(...args: (string | number)[]): Promise<Reply> {
    const parts = args.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`);
    this.#socket.write(`*${args.length}\r\n${parts.join('')}`);
    const head = await this.#line();
    const rest = head.slice(1);
    if (head[0] === '-') throw new Error(rest);
    if (head[0] === ':') return Number(rest);
    if (head[0] === '+') return rest;
    if (rest === '-1') return null;
    while (this.#received.length < Number(rest) + 2) await once(this.#socket, 'data');
    const text = this.#received.slice(0, Number(rest));
    this.#received = this.#received.slice(Number(rest) + 2);
    return text;
  }

  close(): void {
    this.#socket.destroy();
  }

  async #line(): Promise<string> {
    while (!this.#received.includes('\r\n')) await once(this.#socket, 'data');
    const end = this.#received.indexOf('\r\n');
    const line = this.#received.slice(0, end);
    this.#received = this.#received.slice(end + 2);
    return line;
  }
}
