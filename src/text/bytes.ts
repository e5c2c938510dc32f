// Bytes to text and back without loss, also where the bytes are not UTF-8. Each byte that is not
// part of UTF-8 becomes half of a surrogate pair, as Python's "surrogateescape" does (PEP 383). So
// a value of a server can be compared as text, and sent back unchanged.

import { escapeOf } from './foreign-text.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Single halves of surrogate pairs that stand for bytes; complete pairs do not match. */
const escapedBytes = /[\udc80-\udcff]/u;
const allEscapedBytes = new RegExp(escapedBytes, 'gu');

/** UTF-8 beyond ASCII: the bytes before the last one (Unicode, table 3-7). */
const beginnings = [
  '[\\xc2-\\xdf]',
  '\\xe0[\\xa0-\\xbf]',
  '[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]',
  '\\xed[\\x80-\\x9f]',
  '\\xf0[\\x90-\\xbf][\\x80-\\xbf]',
  '[\\xf1-\\xf3][\\x80-\\xbf]{2}',
  '\\xf4[\\x80-\\x8f][\\x80-\\xbf]',
];
/** A character beyond ASCII, or a byte that is part of none. */
const beyondAscii = new RegExp(`((?:${beginnings.join('|')})[\\x80-\\xbf])|[\\x80-\\xff]`, 'g');

/** The bytes as text; `bytesOf` gives the same bytes back. */
export function textOf(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    const oneByteEach = Buffer.from(bytes).toString('latin1');
    return oneByteEach.replace(beyondAscii, (match, character) =>
      character === undefined
        ? String.fromCharCode(0xdc00 + match.charCodeAt(0))
        : Buffer.from(match, 'latin1').toString(),
    );
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
