// The floor: the very requests of redlock-run, made beforehand and written to bare sockets, and a wait for the answers of a quorum.
// No lock could be built on it: it takes every answer for a yes. The surprise: answers are told apart by counting their lines.

import { connect, type Socket } from 'node:net';
import { quorumOf } from '../../../src/lock/validity.ts';
import { channelsOf, keysOf } from '../../../src/redis/keys.ts';
import { acquireScript, releaseScript } from '../../../src/redis/scripts.ts';
import { type Cycle, ttlMs } from './npm.ts';

const day = 24 * 60 * 60 * 1000;
const value = 'floor-floor-floor-floor-floor';
const keys = keysOf('', 'floor');
const channels = channelsOf('', 'floor');
const acquireBytes = requestOf('EVAL', acquireScript, 4, ...keys, value, ttlMs, day + ttlMs, '', '', channels);
const releaseBytes = requestOf('EVAL', releaseScript, 4, ...keys, value, 0, '', '', channels);

export async function floor(urls: readonly string[]): Promise<Cycle> {
  const wires = await Promise.all(urls.map((url) => Wire.open(url.replace('unix://', ''))));
  const ask = (bytes: Buffer, lineCount: number) =>
    new Promise<void>((resolve, reject) => {
      let missingCount = quorumOf(wires.length);
      const answered = () => {
        missingCount -= 1;
        if (missingCount === 0) resolve();
      };
      for (const wire of wires) wire.ask(bytes, lineCount, answered, reject);
    });
  return async () => {
    await ask(acquireBytes, 3);
    await ask(releaseBytes, 1);
  };
}

class Wire {
  readonly #socket: Socket;
  readonly #owed: { lineCount: number; readonly answered: () => void; readonly failed: (error: Error) => void }[] = [];

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes) => this.#read(bytes));
  }

  static open(path: string): Promise<Wire> {
    return new Promise((resolve, reject) => {
      const socket = connect(path, () => resolve(new Wire(socket))).once('error', reject);
    });
  }

  ask(bytes: Buffer, lineCount: number, answered: () => void, failed: (error: Error) => void): void {
    this.#owed.push({ lineCount, answered, failed });
    this.#socket.write(bytes);
  }

  #read(bytes: Buffer): void {
    for (const byte of bytes) {
      const [next] = this.#owed;
      if (next && byte === 45) next.failed(new Error(bytes.toString())); // '-' begins an error, and no number here is below 0.
      if (!next || byte !== 10) continue;
      next.lineCount -= 1;
      if (next.lineCount > 0) continue;
      this.#owed.shift();
      next.answered();
    }
  }
}

/** One command in the protocol of Redis. */
function requestOf(...words: readonly (string | number)[]): Buffer {
  const parts = words.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`);
  return Buffer.from(`*${words.length}\r\n${parts.join('')}`);
}
