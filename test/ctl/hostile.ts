// A server that speaks the protocol of Redis and answers what a test wants: to each command the
// bytes that a function gives, whatever they are. It listens on a unix socket and ends with the
// test file.

import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { scratchFolder } from '../servers/watchdog.ts';

/** The bytes of the answer to a command; null: none ever comes. */
export type Reply = (words: readonly string[]) => string | null;

export interface HostileServer {
  readonly url: string;
  /** Every command that it was sent. */
  readonly commands: (readonly string[])[];
  /** How it answers from now on. */
  reply: Reply;
}

const servers: Server[] = [];
const sockets = new Set<Socket>();

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
});

export async function startHostile(reply: Reply): Promise<HostileServer> {
  const path = join(scratchFolder(), `hostile-${servers.length}`);
  const hostile: HostileServer = { url: `unix://${path}`, commands: [], reply };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
    let pending = Buffer.alloc(0);
    socket.on('data', (bytes) => {
      pending = Buffer.concat([pending, bytes]);
      for (let read = commandIn(pending); read !== null; read = commandIn(pending)) {
        pending = pending.subarray(read.length);
        hostile.commands.push(read.words);
        const answer = hostile.reply(read.words);
        if (answer !== null) socket.write(answer);
      }
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return hostile;
}

/** The first command of these bytes, and how many of them it takes; null: it is not all there. */
function commandIn(bytes: Buffer): { words: string[]; length: number } | null {
  const head = lineAt(bytes, 0);
  if (head === null) return null;
  const words: string[] = [];
  let at = head.next;
  for (let left = Number(head.line.slice(1)); left > 0; left -= 1) {
    const size = lineAt(bytes, at);
    if (size === null) return null;
    const end = size.next + Number(size.line.slice(1));
    if (bytes.length < end + 2) return null;
    words.push(bytes.toString('utf8', size.next, end));
    at = end + 2;
  }
  return { words, length: at };
}

function lineAt(bytes: Buffer, at: number): { line: string; next: number } | null {
  const end = bytes.indexOf('\r\n', at);
  return end < 0 ? null : { line: bytes.toString('latin1', at, end), next: end + 2 };
}

export const bulk = (text: string) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
export const list = (...items: readonly string[]) => `*${items.length}\r\n${items.join('')}`;
/** What an echo server answers. */
export const echo: Reply = (words) => list(...words.map(bulk));

const facts = ['redis_version:7.0.15', 'redis_mode:standalone', 'role:master', 'uptime_in_seconds:100000'];

/** INFO of a server that is fine, with these fields changed; null: it has none. */
export function info(changes: Readonly<Record<string, string | null>> = {}): string {
  const fields = new Map(facts.map((line) => line.split(':') as [string, string]));
  for (const [field, value] of Object.entries({ run_id: 'a'.repeat(40), ...changes })) {
    if (value === null) fields.delete(field);
    else fields.set(field, value);
  }
  return bulk([...fields].map(([field, value]) => `${field}:${value}\r\n`).join(''));
}

/** Who it is, as of a server that is fine; everything else is answered by the other function. */
export function behind(reply: Reply): Reply {
  return (words) => {
    const [command = ''] = words;
    if (/^info$/i.test(command)) return info();
    if (/^role$/i.test(command)) return list(bulk('master'), ':0\r\n', '*0\r\n');
    return reply(words);
  };
}
