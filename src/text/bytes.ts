// Bytes to text and back without loss, also where the bytes are not UTF-8. Each byte that is not
// part of UTF-8 becomes half of a surrogate pair, as Python's "surrogateescape" does (PEP 383). So
// a value of a server can be compared as text, and sent back unchanged.

import { escapeOf } from './foreign-text.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Single halves of surrogate pairs that stand for bytes; complete pairs do not match. */
const escapedBytes = /[\udc80-\udcff]/u;
const allEscapedBytes = new RegExp(escapedBytes, 'gu');

/** The bytes as text; `bytesOf` gives the same bytes back. */
export function textOf(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    return partsOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).join('');
  }
}

/** The bytes of a text from `textOf`: the string itself where its UTF-8 is the same. */
export function bytesOf(text: string): Buffer | string {
  if (!escapedBytes.test(text)) return text;
  const parts = [...text].map((character) =>
    escapedBytes.test(character)
      ? Buffer.of(character.charCodeAt(0) - 0xdc00)
      : Buffer.from(character),
  );
  return Buffer.concat(parts);
}

/** The text with bytes that are not UTF-8 written as escapes, and nothing else changed. */
export function withBytesEscaped(text: string): string {
  return text.replace(allEscapedBytes, escapeOf);
}

/** Decodes character by character. It is slow, but such texts are rare. */
function partsOf(bytes: Buffer): string[] {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = lengthAt(bytes, at);
    parts.push(
      length === 0
        ? String.fromCharCode(0xdc00 + (bytes[at] ?? 0))
        : bytes.toString('utf8', at, at + length),
    );
    at += Math.max(1, length);
  }
  return parts;
}

/** The length of a character whose first byte is below this, and not below the one before. */
const lengths = [
  [0x80, 1],
  [0xc2, 0],
  [0xe0, 2],
  [0xf0, 3],
  [0xf5, 4],
] as const;

/** The length in bytes of the UTF-8 character at `at`; 0: there is none. */
function lengthAt(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0;
  const [, length = 0] = lengths.find(([below]) => first < below) ?? [];
  const character = bytes.subarray(at, at + length);
  return Buffer.from(character.toString()).equals(character) ? length : 0;
}
