// Servers that speak the Redis protocol and reply as a test wants: like a broken, intercepted or
// malicious master. They lock nothing, and end with the test file.

import { randomBytes } from 'node:crypto';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { scratchFolder } from './watchdog.ts';

/** The bytes of the reply to a command; null: no reply, and the test goes on. */
export type Reply = (args: readonly string[], socket: Socket) => string | null;

export interface HostileMaster {
  readonly url: string;
  /** Every command that it has received. */
  readonly commands: (readonly string[])[];
  readonly connectionCount: number;
  /** Its replies from now on. */
  reply: Reply;
}

const servers: Server[] = [];
const sockets = new Set<Socket>();

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all(
    servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))),
  );
});

let count = 0;

export async function startHostile(
  reply: Reply,
  transport: 'unix' | 'tcp' = 'unix',
): Promise<HostileMaster> {
  count += 1;
  const path = join(scratchFolder(), `hostile${count}`);
  const own = new Set<Socket>();
  const master = {
    url: `unix://${path}`,
    commands: [] as (readonly string[])[],
    reply,
    get connectionCount() {
      return own.size;
    },
  };
  const server = createServer((socket) => {
    for (const all of [sockets, own]) all.add(socket);
    socket.on('error', () => {}); // 'close' follows.
    socket.on('close', () => {
      for (const all of [sockets, own]) all.delete(socket);
    });
    let unread = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      unread = Buffer.concat([unread, chunk]);
      for (let read = commandIn(unread); read !== null; read = commandIn(unread)) {
        unread = unread.subarray(read.byteCount);
        master.commands.push(read.args);
        const answer = master.reply(read.args, socket);
        if (answer !== null && socket.writable) socket.write(answer);
      }
    });
  });
  servers.push(server);
  const place = transport === 'unix' ? { path } : { host: '127.0.0.1', port: 0 };
  await new Promise<void>((resolve) => server.listen(place, resolve));
  if (transport === 'tcp')
    master.url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return master;
}

/** The first whole command: an array of bulk strings, as clients send them. */
function commandIn(
  bytes: Buffer,
): { readonly args: readonly string[]; readonly byteCount: number } | null {
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
  const args: string[] = [];
  for (let index = 0; index < wordCount; index += 1) {
    const length = number();
    if (length === null || at + length + 2 > bytes.length) return null;
    args.push(bytes.toString('utf8', at, at + length));
    at += length + 2;
  }
  return { args, byteCount: at };
}

export const bulk = (text: string) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
export const list = (...items: readonly string[]) => `*${items.length}\r\n${items.join('')}`;
/** The reply of a master that grants a lock, with this fence. */
export const grant = (fence: number | string = 1_700_000_000_000_000) =>
  list(':1\r\n', `:${fence}\r\n`);
/** The reply of a master where another client holds the lock for so long. */
export const refusal = (remainingMs = 60_000) =>
  list(
    ':0\r\n',
    ...[bulk('holder'), bulk('another')],
    ...[bulk('remainingMs'), `:${remainingMs}\r\n`],
    ...[bulk('position'), ':1\r\n'],
    ...[bulk('masterTimeUs'), `:${Date.now() * 1000}\r\n`],
  );
/** The reply of an echo server. */
export const echo: Reply = (args) => list(...args.map(bulk));

const facts = [
  'redis_version:7.0.15',
  'redis_mode:standalone',
  'role:master',
  'uptime_in_seconds:100000',
];

/** INFO of a healthy server, with these fields changed; null: without INFO. */
export function info(changes: Readonly<Record<string, string | null>> = {}): string {
  const fields = new Map(facts.map((line) => line.split(':') as [string, string]));
  for (const [field, value] of Object.entries({ run_id: 'a'.repeat(40), ...changes })) {
    if (value === null) fields.delete(field);
    else fields.set(field, value);
  }
  return bulk([...fields].map(([field, value]) => `${field}:${value}\r\n`).join(''));
}

/** The identity of a healthy server; the other function answers everything else. */
export function behind(reply: Reply): Reply {
  const runId = randomBytes(20).toString('hex');
  return (args, socket) => {
    const [command = ''] = args;
    if (/^info$/i.test(command)) return info({ run_id: runId });
    if (/^role$/i.test(command)) return list(bulk('master'), ':0\r\n', '*0\r\n');
    return reply(args, socket);
  };
}

/** A healthy server, except for its replies to scripts; `nth` counts these from 0. */
export function toScripts(
  answer: (args: readonly string[], nth: number, socket: Socket) => string | null,
): Reply {
  let nth = -1;
  return behind((args, socket) => {
    if (!/^eval$/i.test(args[0] ?? '')) return '-ERR unknown command\r\n';
    nth += 1;
    return answer(args, nth, socket);
  });
}

/** The bytes of a message. */
export const messageOn = (channel: string, payload = '') =>
  list(bulk('message'), bulk(channel), bulk(payload));
/** The bytes that confirm a SUBSCRIBE with these words. */
export const confirmed = ([, ...channels]: readonly string[]) =>
  channels.map((channel) => list(bulk('subscribe'), bulk(channel), ':1\r\n')).join('');

/** Sends these bytes again and again, as fast as they are read. */
export function flood(socket: Socket, bytes: string): void {
  const batch = Buffer.from(bytes.repeat(Math.ceil(4_194_304 / bytes.length)));
  const send = () => {
    while (socket.writable && socket.write(batch));
  };
  socket.on('drain', () => setImmediate(send));
  send();
}

/** Complete replies, each of them wrong for SUBSCRIBE, and pushes that no client has requested. */
export const strangeReplies: Readonly<Record<string, string>> = {
  nil: '$-1\r\n',
  'a nil list': '*-1\r\n',
  'the null of RESP3': '_\r\n',
  'an empty list': '*0\r\n',
  'a list of nil': list('$-1\r\n'),
  'a list of lists': list(list(), list()),
  'lists in lists': `${'*1\r\n'.repeat(100_000)}:1\r\n`,
  'a number': ':1\r\n',
  OK: '+OK\r\n',
  text: bulk('subscribe'),
  'an error': '-ERR nothing today\r\n',
  'an error without words': '-\r\n',
  'a map': '%1\r\n+subscribe\r\n+a\r\n',
  true: '#t\r\n',
  'a confirmation of nil': list(bulk('subscribe'), '$-1\r\n', ':1\r\n'),
  'a confirmation of a number': list(bulk('subscribe'), ':1\r\n', ':1\r\n'),
  'a confirmation without a channel': list(bulk('subscribe')),
  'a confirmation without a count': list(bulk('subscribe'), bulk('a')),
  'a message of nil': list(bulk('message'), '$-1\r\n', '$-1\r\n'),
  'a message without a channel': list(bulk('message')),
  'an unsubscription': list(bulk('unsubscribe'), '$-1\r\n', ':0\r\n'),
  'an empty push': '>0\r\n',
  'a push of nil': '>1\r\n$-1\r\n',
  'a push of a confirmation of nil': `>3\r\n${bulk('subscribe')}$-1\r\n:1\r\n`,
  'a push of a message of nil': `>3\r\n${bulk('message')}$-1\r\n$-1\r\n`,
  'an attribute': '|1\r\n+a\r\n:1\r\n',
  'what is no protocol': 'HTTP/1.1 400 Bad Request\r\n\r\n',
  nothing: '',
};
