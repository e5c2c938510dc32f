// Bytes as text and back, exactly, also where they are no UTF-8: each byte that is none becomes the
// half of a surrogate pair that Python's "surrogateescape" takes (PEP 383), which no UTF-8 stands
// for. So what a server keeps can be handled and compared as text, and sent back as it was.

import { escapeOf } from './printable.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Halves of pairs that stand for bytes; in pairs they are not matched. */
const escapedBytes = /[\udc80-\udcff]/u;
const allEscapedBytes = new RegExp(escapedBytes, 'gu');

export function textOf(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    return partsOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).join('');
  }
}

/** A string where that says the same. */
export function bytesOf(text: string): Buffer | string {
  if (!escapedBytes.test(text)) return text;
  const parts = [...text].map((character) =>
    escapedBytes.test(character)
      ? Buffer.of(character.charCodeAt(0) - 0xdc00)
      : Buffer.from(character),
  );
  return Buffer.concat(parts);
}

/** As printable.ts shows them, and nothing else changed. */
export function withBytesEscaped(text: string): string {
  return text.replace(allEscapedBytes, escapeOf);
}

/** Character by character: such texts are rare. */
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

/** Of the character that begins there; 0: none does. */
function lengthAt(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0;
  const length =
    first < 0x80
      ? 1
      : first < 0xc2
        ? 0
        : first < 0xe0
          ? 2
          : first < 0xf0
            ? 3
            : first < 0xf5
              ? 4
              : 0;
  const character = bytes.subarray(at, at + length);
  return Buffer.from(character.toString()).equals(character) ? length : 0;
}
