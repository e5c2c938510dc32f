// Filters the bytes of a server before ioredis, which throws outside of any promise at some of
// them; that would end the program. Only replies to requests pass, of bounded size and depth, and
// no pushes. For anything else the connection is closed.

import type { Redis } from 'ioredis';
import type { Failed } from '../../lock/types.ts';
import { failed, failedBy, foreignProtocol, replyError } from '../errors.ts';

/** The deepest lists in lists; ioredis reads them by recursion. */
const deepest = 1_000;
/** The header has the type of a reply and its length. */
const longestHeader = 16;
const carriageReturn = 0x0d;
/** The first byte of the alert with which a TLS port answers plain text. */
const tlsAlert = 0x15;

const speaksTls = failed('denied', 'speaks TLS (write rediss://)');
const unasked = {
  ...failed('connection', 'it sent what was not asked for'),
  advice: 'correct the port',
};
const tooLong = (bytes: number): Failed => ({
  ...failed('connection', `a reply of more than ${bytes} bytes`),
  advice: 'look at what answers there: it is no master',
});
/** The most that is kept of an error that came without a request. */
const mostErrorBytes = 300;

export class ReplyGuard {
  readonly #mostBytes: number;
  /** The bytes since the last reply to a request ended. */
  #bytes = 0;
  /** What is left of a text and its line break, or of the line break of a header. */
  #bytesToSkip = 0;
  /** The beginning of the line that is being read. */
  #header = '';
  /** The number of missing items of each list that is being read; the innermost is the last. */
  readonly #itemsLeft: number[] = [];
  #owedCount = 0;
  /** The replies that may still come to requests of ioredis itself. */
  #loginRepliesLeft: number;
  #hasBegun = false;
  /** The line that is being read, as far as it may be an error without a request. */
  #line = '';
  /** With which error the server has closed the connection; '': with none. */
  #lastError = '';
  #problem: Failed | null = null;

  /** A client that logs in by itself may get `loginReplies` that asked() did not announce. */
  constructor(client: Redis, mostBytes: number, loginReplies: number) {
    this.#mostBytes = mostBytes;
    this.#loginRepliesLeft = loginReplies;
    client.on('connect', () => this.#guard(client));
  }

  /** Why the connection was closed; null: not because of the server's bytes. */
  get problem(): Failed | null {
    return this.#problem;
  }

  /** Whether the server has sent anything. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** What the server said, without a request, before it closed the connection; null: nothing. */
  get lastError(): Failed | null {
    return this.#lastError === '' ? null : failedBy(replyError(this.#lastError));
  }

  /** Announces one more reply. */
  asked(): void {
    this.#owedCount += 1;
  }

  /** Called at an event when ioredis listens already, and nothing has been read yet. */
  #guard({ stream }: Redis): void {
    // ioredis listens for the first error only; another one would end the program.
    stream.on('error', () => {});
    const readers = stream.listeners('data');
    stream.removeAllListeners('data');
    stream.on('data', (chunk: Buffer) => {
      if (this.#problem) return;
      const harmless = chunk.subarray(0, this.#read(chunk));
      for (const read of readers) read.call(stream, harmless);
      if (this.#problem) stream.destroy();
    });
  }

  /** Returns how many of the bytes are harmless. */
  #read(chunk: Buffer): number {
    let at = 0;
    while (at < chunk.length) {
      const end = this.#bytesToSkip > 0 ? this.#skip(chunk, at) : this.#readLine(chunk, at);
      this.#bytes += end - at;
      if (this.#bytes > this.#mostBytes) {
        this.#problem ??= tooLong(this.#mostBytes);
      }
      if (this.#problem) return at;
      at = end;
    }
    return at;
  }

  #skip(chunk: Buffer, at: number): number {
    const count = Math.min(this.#bytesToSkip, chunk.length - at);
    this.#bytesToSkip -= count;
    return at + count;
  }

  /**
   * Reads up to the carriage return, at which some versions of ioredis take a line for complete.
   */
  #readLine(chunk: Buffer, at: number): number {
    if (!this.#hasBegun && chunk[at] === tlsAlert) this.#problem = speaksTls;
    this.#hasBegun = true;
    const found = chunk.indexOf(carriageReturn, at);
    const end = found < 0 ? chunk.length : found + 1;
    const missing = longestHeader - this.#header.length;
    this.#header += chunk.toString('latin1', at, Math.min(end, at + missing));
    const room = mostErrorBytes - this.#line.length;
    if (this.#header.startsWith('-'))
      this.#line += chunk.toString('latin1', at, Math.min(end, at + room));
    if (!/^[-+:,#_($=!*~%]/.test(this.#header))
      this.#problem ??= /^[>|]/.test(this.#header) ? unasked : foreignProtocol;
    if (found >= 0 && !this.#problem) {
      const header = this.#header;
      this.#header = '';
      this.#bytesToSkip = 1;
      this.#begin(header);
      this.#line = '';
    }
    return end;
  }

  /** A text counts as complete when its length is known: the rest is skipped. */
  #begin(header: string): void {
    const [type = ''] = header;
    if (!/[$=!*~%]/.test(type)) return this.#end(type === '_', type === '-');
    const [, digits] = /^.(-?\d{1,12})\r$/.exec(header) ?? [];
    if (digits === undefined) {
      this.#problem = foreignProtocol;
      return;
    }
    const length = Number(digits) * (type === '%' ? 2 : 1);
    if (/[$=!]/.test(type)) {
      if (length >= 0) this.#bytesToSkip += length + 2;
      return this.#end(length < 0, type === '!');
    }
    if (length <= 0) return this.#end(length < 0, false);
    this.#itemsLeft.push(length);
    if (this.#itemsLeft.length > deepest) this.#problem = foreignProtocol;
  }

  #end(isNil: boolean, isError: boolean): void {
    const isWhole = this.#itemsLeft.length === 0;
    while (this.#itemsLeft.length > 0) {
      const left = (this.#itemsLeft.pop() ?? 0) - 1;
      if (left > 0) {
        this.#itemsLeft.push(left);
        return;
      }
    }
    if (this.#owedCount > 0) this.#owedCount -= 1;
    else if (this.#loginRepliesLeft > 0 && !(isNil && isWhole)) this.#loginRepliesLeft -= 1;
    // A server says without a request why it closes a connection.
    else if (isError && isWhole) {
      this.#lastError ||= this.#line.slice(1).trim();
      return;
    } else this.#problem = unasked;
    this.#bytes = 0;
  }
}
