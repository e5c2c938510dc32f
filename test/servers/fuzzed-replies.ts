// Replies by chance, for hostile masters: headers of both protocols with lengths of every kind, in
// one another, cut off, repeated, mixed with right replies. Everything follows from the seed.

import type { Socket } from 'node:net';

/** 0 to 1, as Math.random; the same for the same seed. */
export function chanceOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const lists = ['*', '*', '*', '~', '%', '>', '|'];
const texts = ['$', '$', '=', '!'];
const lines = ['+', '-', ':', ':', '_', ',', '#', '('];
const lengths = [
  ...['0', '1', '2', '3', '7', '100', '1000', '65535', '349525', '349526', '1000000', '1000001'],
  ...['33554431', '33554432', '2147483647', '4294967295', '4294967296', '9007199254740993'],
  ...['99999999999999999999', '1'.repeat(40), '-1', '-2', '-5', '-4294967295', '-0', '', '-', '?'],
  ...['007', '+3', '1e9', '0x10', '1.5', ' 1', '1 ', 'Infinity', 'NaN', '1\n'],
];
const words = [
  '',
  'OK',
  'txt:',
  't',
  'f',
  '1',
  '-1',
  '1.5',
  'inf',
  'nan',
  'message',
  'a'.repeat(300),
];
const breaks = ['\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r', '\n', '\r\r\n', '', '\0\0'];

/** The bytes of one reply, wrong in most cases. */
export function fuzzedReply(chance: () => number): string {
  const oneOf = <Item>(items: readonly Item[]) =>
    items[Math.floor(chance() * items.length)] as Item;
  const item = (depth: number): string => {
    const kind = chance();
    if (kind < 0.45 && depth < 24) {
      const type = oneOf(lists);
      const count = Math.floor(chance() * 4);
      const length = chance() < 0.5 ? String(count) : oneOf(lengths);
      const items = Array.from({ length: count }, () => item(depth + 1)).join('');
      return `${type}${length}${oneOf(breaks)}${items}`;
    }
    if (kind < 0.7) {
      const text = oneOf(words);
      const length = chance() < 0.5 ? String(text.length) : oneOf(lengths);
      return `${oneOf(texts)}${length}${oneOf(breaks)}${text}${oneOf(breaks)}`;
    }
    if (kind < 0.97) return `${oneOf(lines)}${oneOf([...words, ...lengths])}${oneOf(breaks)}`;
    return String.fromCharCode(Math.floor(chance() * 256));
  };
  const shape = chance();
  if (shape < 0.15)
    return `${oneOf(lists)}${oneOf(lengths)}\r\n`.repeat(1 + Math.floor(chance() * 120));
  if (shape < 0.25) return `*2\r\n:1\r\n`.repeat(Math.floor(chance() * 40)) + item(0);
  return Array.from({ length: 1 + Math.floor(chance() * 3) }, () => item(0)).join('');
}

/** Sends the bytes whole, in a few pieces, or one by one, and closes the connection. */
export function sendInPieces(socket: Socket, reply: string, chance: () => number): void {
  const bytes = Buffer.from(reply, 'latin1');
  const sizes = [bytes.length, 1 + Math.floor(chance() * 20), 1];
  const size = Math.max(1, sizes[Math.floor(chance() * sizes.length)] ?? 1, bytes.length / 200);
  const send = (at: number) => {
    if (!socket.writable) return;
    if (at >= bytes.length) socket.end();
    else socket.write(bytes.subarray(at, at + size), () => setImmediate(send, at + size));
  };
  send(0);
}
