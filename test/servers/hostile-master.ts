// A server that speaks the Redis protocol and answers whatever a test wants: what a broken,
// intercepted or malicious master may say. It locks nothing. Unless told otherwise it greets as a
// master that has been up for a day.

import { randomBytes } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { scratchFolder } from './watchdog.ts';

/**
 * The bytes of a reply to a script, by its words and how many scripts came before; null: none, and
 * the test goes on.
 */
export type Answer = (words: readonly string[], nth: number, socket: Socket) => string | null;

export const bulk = (text: string) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
export const list = (...items: readonly string[]) => `*${items.length}\r\n${items.join('')}`;
/** What a master answers that grants a lock, with this fence. */
export const grant = (fence: number | string = 1_700_000_000_000_000) => list(':1\r\n', `:${fence}\r\n`);

let count = 0;

export class HostileMaster {
  readonly url: string;
  /** Scripts that it was sent, in order, by their words. */
  readonly scripts: string[][] = [];
  readonly #server: Server;
  readonly #runId = randomBytes(20).toString('hex');
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, path: string) {
    this.#server = server;
    this.url = `unix://${path}`;
  }

  static async start(answer: Answer): Promise<HostileMaster> {
    count += 1;
    const path = join(scratchFolder(), `hostile${count}`);
    const server = createServer();
    const master = new HostileMaster(server, path);
    server.on('connection', (socket) => master.#serve(socket, answer));
    await new Promise<void>((resolve) => server.listen(path, resolve));
    return master;
  }

  get connectionCount(): number {
    return this.#sockets.size;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: Socket, answer: Answer): void {
    this.#sockets.add(socket);
    let unread = Buffer.alloc(0);
    socket.on('error', () => {}); // 'close' follows.
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('data', (chunk) => {
      unread = Buffer.concat([unread, chunk]);
      for (let read = commandIn(unread); read !== null; read = commandIn(unread)) {
        unread = unread.subarray(read.byteCount);
        const reply = this.#replyTo(read.words, answer, socket);
        if (reply !== null && socket.writable) socket.write(reply);
      }
    });
  }

  #replyTo(words: readonly string[], answer: Answer, socket: Socket): string | null {
    switch (words[0]?.toUpperCase()) {
      case 'INFO':
        return bulk(`# Server\r\nrun_id:${this.#runId}\r\nuptime_in_seconds:86400\r\n`);
      case 'ROLE':
        return list(bulk('master'), ':0\r\n', '*0\r\n');
      case 'EVAL':
        this.scripts.push([...words]);
        return answer(words, this.scripts.length - 1, socket);
      default:
        return '-ERR unknown command\r\n';
    }
  }
}

/** The first whole command: an array of bulk strings, as clients send them. */
function commandIn(bytes: Buffer): { readonly words: readonly string[]; readonly byteCount: number } | null {
  let at = 0;
  const number = () => {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return null;
    const value = Number(bytes.toString('latin1', at + 1, end));
    at = end + 2;
    return value;
  };
  const wordCount = number();
  if (wordCount === null) return null;
  const words: string[] = [];
  for (let index = 0; index < wordCount; index += 1) {
    const length = number();
    if (length === null || at + length + 2 > bytes.length) return null;
    words.push(bytes.toString('utf8', at, at + length));
    at += length + 2;
  }
  return { words, byteCount: at };
}
