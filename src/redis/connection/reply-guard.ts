// Filters the bytes of a server before ioredis, which throws outside of any promise at some of
// them; that would end the program. Only replies to requests pass, of bounded size and depth. They
// are read as the protocol that was asked for (RESP2), to the letter: where this and a parser of
// ioredis read the same bytes differently, one of them would miss a list. For anything else the
// connection is closed.

import type { Socket } from 'node:net';
import type { Redis } from 'ioredis';
import type { Failed } from '../../lock/types.ts';
import { failed, failedBy, foreignProtocol, replyError } from '../errors.ts';

/** The deepest lists in lists: a script of ours needs five, and ioredis reads them by recursion. */
const deepest = 16;
/**
 * A reply may have one item for this many of the bytes that it may have: each takes many times its
 * bytes in memory, and tens of thousands occupy the event loop for as long as a master may take.
 */
const bytesPerItem = 32;
/** The most items of a reply of any length. */
const maxItems = 1_000_000;
/** Of the line of a number or a length. */
const maxNumberLength = 24;
const carriageReturn = 0x0d;
/** The first byte of the alert with which a TLS port answers plain text. */
const tlsAlert = 0x15;

const speaksTls = failed('denied', 'speaks TLS', 'write rediss://');
/** Its types, which no server sends to a client that has not asked for them. */
const ofNewerProtocol = /^[_,#(=!~%>|]/;
const unasked = failed('connection', 'it sent what was not asked for', 'correct the port');
const noMaster = 'look at what answers there: it is no master';
const tooLong = (what: string): Failed =>
  failed('connection', `a reply of more than ${what}`, noMaster);
/** The most that is kept of an error that came without a request. */
const maxErrorBytes = 300;

/**
 * Replaces whatever reads the stream: `read` gets one chunk in each turn of the event loop, 64 KiB
 * at most. Otherwise a server that sends without end gets 32 of them, and meanwhile no answer of
 * another master is read.
 */
export function readInTurns(stream: Socket, read: (chunk: Buffer) => void): void {
  stream.removeAllListeners('data');
  stream.on('data', (chunk: Buffer) => {
    stream.pause();
    setImmediate(() => stream.resume());
    read(chunk);
  });
}

export class ReplyGuard {
  /** Why the connection was closed; null: not because of the server's bytes. */
  problem: Failed | null = null;
  /** Whether the server has sent anything. */
  hasBegun = false;
  readonly #maxReplyBytes: number;
  readonly #maxItems: number;
  /** Of the reply that is being read. */
  #byteCount = 0;
  /** The items that all lists of this reply have announced. */
  #itemCount = 0;
  /** What must follow before the next line: these characters, or this many bytes of any kind. */
  #due: (string | number)[] = [];
  /** The beginning of the line of text that is being read. */
  #text = '';
  /** The beginning of another line. */
  #unread: Buffer = Buffer.alloc(0);
  /** The number of missing items of each list that is being read; the innermost is the last. */
  readonly #itemsLeft: number[] = [];
  #owedCount = 0;
  /** The replies that may still come to requests of ioredis itself. */
  #loginRepliesLeft: number;
  /** The error that the server has sent without a request; null: none. */
  #lastError: string | null = null;

  /** A client that logs in by itself may get `loginReplies` that asked() did not announce. */
  constructor(client: Redis, maxReplyBytes: number, loginReplies: number) {
    this.#maxReplyBytes = maxReplyBytes;
    this.#maxItems = Math.min(maxItems, Math.floor(maxReplyBytes / bytesPerItem));
    this.#loginRepliesLeft = loginReplies;
    client.on('connect', () => this.#guard(client));
  }

  /** The error that the server sent without a request before it closed the connection, or null. */
  get lastError(): Failed | null {
    return this.#lastError ? failedBy(replyError(this.#lastError)) : null;
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
    readInTurns(stream, (chunk) => {
      if (this.problem) return;
      const bytes = this.#unread.length > 0 ? Buffer.concat([this.#unread, chunk]) : chunk;
      const harmless = bytes.subarray(0, this.#read(bytes));
      this.#unread = bytes.subarray(harmless.length);
      for (const read of readers) if (harmless.length > 0) read.call(stream, harmless);
      if (this.problem) stream.destroy();
    });
  }

  /** Returns how many of the bytes are harmless: perhaps not the beginning of a line at the end. */
  #read(chunk: Buffer): number {
    let at = 0;
    while (at < chunk.length) {
      const end = this.#due.length > 0 ? this.#readDue(chunk, at) : this.#readLine(chunk, at);
      this.#byteCount += end - at;
      if (this.#byteCount > this.#maxReplyBytes) {
        this.problem ??= tooLong(`${this.#maxReplyBytes} bytes`);
      }
      if (this.problem || end === at) return at;
      at = end;
      if (this.#due.length === 0 && this.#text === '' && this.#itemsLeft.length === 0)
        [this.#byteCount, this.#itemCount] = [0, 0];
    }
    return at;
  }

  #readDue(chunk: Buffer, at: number): number {
    const [due] = this.#due;
    if (typeof due === 'number') {
      const count = Math.min(due, chunk.length - at);
      if (count < due) this.#due[0] = due - count;
      else this.#due.shift();
      return at + count;
    }
    if (chunk[at] !== due?.charCodeAt(0)) this.problem = foreignProtocol;
    this.#due.shift();
    return at + 1;
  }

  #readLine(chunk: Buffer, at: number): number {
    if (!this.hasBegun && chunk[at] === tlsAlert) this.problem = speaksTls;
    this.hasBegun = true;
    const type = this.#text[0] ?? chunk.toString('latin1', at, at + 1);
    if (/[-+]/.test(type)) return this.#readText(chunk, at);
    if (!/[:$*]/.test(type)) {
      this.problem ??= ofNewerProtocol.test(type) ? unasked : foreignProtocol;
      return at;
    }
    // ioredis 6 takes the minus of "*-1" for the whole line: it is given whole lines only.
    const line = chunk.toString('latin1', at, at + maxNumberLength);
    const end = line.indexOf('\r\n');
    if (end >= 0) this.#begin(line.slice(0, end));
    else if (line.length === maxNumberLength || /\r./s.test(line)) this.problem = foreignProtocol;
    return end < 0 ? at : at + end + 2;
  }

  /**
   * Reads up to the carriage return, at which some versions of ioredis take a line for complete.
   */
  #readText(chunk: Buffer, at: number): number {
    const found = chunk.indexOf(carriageReturn, at);
    const end = found < 0 ? chunk.length : found;
    const room = maxErrorBytes - this.#text.length;
    this.#text += chunk.toString('latin1', at, Math.min(end, at + room));
    if (found < 0) return end;
    this.#due = ['\n'];
    this.#begin(this.#text);
    this.#text = '';
    return end + 1;
  }

  /** An item begins with this line; a text and the items of a list follow. */
  #begin(line: string): void {
    const [type = ''] = line;
    const isText = /[-+]/.test(type);
    const [, digits] = /^[:$*](-?\d+)$/.exec(line) ?? [];
    const length = Number(digits);
    const isNil = /[$*]/.test(type) && digits === '-1';
    const isLength = isNil || digits?.startsWith('-') === false;
    const isValid = isText || (type === ':' ? digits !== undefined : isLength);
    if (!isValid) {
      this.problem = foreignProtocol;
      return;
    }
    if (this.#itemsLeft.length === 0) this.#pay(line, isNil);
    if (type === '$' && !isNil) this.#due.push(...(length > 0 ? [length] : []), '\r', '\n');
    if (type === '*' && length > 0) this.#open(length);
    else this.#end();
  }

  /** A reply begins: to a request, or it is an error without one. */
  #pay(line: string, isNil: boolean): void {
    if (this.#owedCount > 0) this.#owedCount -= 1;
    else if (this.#loginRepliesLeft > 0 && !isNil) this.#loginRepliesLeft -= 1;
    // A server sends one error without a request: why it closes the connection.
    else if (line.startsWith('-') && this.#lastError === null)
      this.#lastError = line.slice(1).trim();
    else this.problem = unasked;
  }

  #open(length: number): void {
    this.#itemsLeft.push(length);
    this.#itemCount += length;
    if (this.#itemCount > this.#maxItems) this.problem = tooLong(`${this.#maxItems} items`);
    if (this.#itemsLeft.length > deepest) this.problem ??= foreignProtocol;
  }

  /**
   * An item has ended, except for bytes still due, and with it every list of which it was the last
   * item.
   */
  #end(): void {
    for (let left = 0; left === 0 && this.#itemsLeft.length > 0; ) {
      left = (this.#itemsLeft.pop() ?? 0) - 1;
      if (left > 0) this.#itemsLeft.push(left);
    }
  }
}
