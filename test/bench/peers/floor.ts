// The floor: the requests of redlock-run on open connections, encoded beforehand and written to
// bare sockets, and a wait for the replies of a quorum, counted by their lines. It is no lock,
// because it counts every reply as granted.

import { connect, type Socket } from 'node:net';
import { quorumOf } from '../../../src/lock/quorum.ts';
import { alone } from '../../../src/lock/types.ts';
import { Calls, type ScriptCall } from '../../../src/redis/calls/script-calls.ts';
import { type Cycle, ttlMs } from './npm.ts';

/** What redlock-run sends for one cycle on a resource. */
export function callsOn(resource: string): {
  readonly acquire: ScriptCall;
  readonly release: ScriptCall;
} {
  const value = '01234567-89ab-cdef-0123-456789abcdef';
  const own = { resources: [resource], token: value, value, ttlMs };
  const claim = { ...alone, ...own, isFenced: true, waiter: null };
  const removal = { claim, keepMs: 0, line: null, keepsPosition: false };
  const calls = new Calls({ prefix: '', historyBytes: 0, protocol: 'redlock' });
  return { acquire: calls.toAcquire(claim), release: calls.toRelease(removal) };
}

const { acquire, release } = callsOn('floor');
const counted = (keys: readonly string[]) => [keys.length, ...keys];
const requested = ({ script, keys, args }: ScriptCall) =>
  requestOf('EVAL', script, ...counted(keys), ...args);
const [acquireBytes, releaseBytes] = [requested(acquire), requested(release)];

export async function floor(urls: readonly string[]): Promise<Cycle> {
  const wires = await Promise.all(urls.map((url) => Wire.open(url.replace('unix://', ''))));
  const ask = (bytes: Buffer, lineCount: number, enough: number) =>
    new Promise<void>((resolve, reject) => {
      let missingCount = enough;
      const answered = () => {
        missingCount -= 1;
        if (missingCount === 0) resolve();
      };
      for (const wire of wires) wire.ask(bytes, lineCount, answered, reject);
    });
  await ask(requested(acquire), 3, wires.length);
  await ask(requested(release), 1, wires.length);
  return async () => {
    await ask(acquireBytes, 3, quorumOf(wires.length));
    await ask(releaseBytes, 1, quorumOf(wires.length));
  };
}

class Wire {
  readonly #socket: Socket;
  readonly #owed: {
    lineCount: number;
    readonly answered: () => void;
    readonly failed: (error: Error) => void;
  }[] = [];

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes) => this.#read(bytes));
  }

  static open(path: string): Promise<Wire> {
    return new Promise((resolve, reject) => {
      const socket = connect(path, () => resolve(new Wire(socket))).once('error', reject);
    });
  }

  ask(
    bytes: Buffer,
    lineCount: number,
    answered: () => void,
    failed: (error: Error) => void,
  ): void {
    this.#owed.push({ lineCount, answered, failed });
    this.#socket.write(bytes);
  }

  #read(bytes: Buffer): void {
    for (const byte of bytes) {
      const [next] = this.#owed;
      // '-' begins an error, and no reply here is negative.
      if (next && byte === 45) next.failed(new Error(bytes.toString()));
      if (!next || byte !== 10) continue;
      next.lineCount -= 1;
      if (next.lineCount > 0) continue;
      this.#owed.shift();
      next.answered();
    }
  }
}

/** One command in the protocol of Redis. */
function requestOf(...args: readonly (string | number)[]): Buffer {
  const parts = args.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`);
  return Buffer.from(`*${args.length}\r\n${parts.join('')}`);
}
