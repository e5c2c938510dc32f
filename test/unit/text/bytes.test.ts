// Any bytes as text and back.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesOf, textOf } from '../../../src/text/bytes.ts';
import { anyText } from '../any-text.ts';

const bytesAgain = (text: string) => Buffer.from(bytesOf(text));

test('any bytes come back unchanged', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      expect(bytesAgain(textOf(bytes))).toEqual(Buffer.from(bytes));
    }),
  );
});

test('any text becomes its UTF-8', () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      expect(bytesOf(text)).toBe(text);
      expect(textOf(Buffer.from(text))).toBe(text);
    }),
  );
});

test.each([
  ['what remains of a character', [0xe4, 0xbd]],
  ['half of a pair in UTF-8', [0xed, 0xb2, 0x82]],
  ['more than there is', [0xf5, 0x80, 0x80, 0x80]],
  ['a mark of byte order', [0xef, 0xbb, 0xbf, 0x61]],
  ['a longer form than needed', [0xc0, 0xaf]],
  ['a character between others that are none', [0x82, 0xf0, 0x9f, 0x98, 0x80, 0x82]],
])('%s', (_, bytes) => {
  expect(bytesAgain(textOf(Uint8Array.from(bytes)))).toEqual(Buffer.from(bytes));
});

test('different bytes are different texts', () => {
  expect(textOf(Uint8Array.of(0x82))).not.toBe(textOf(Uint8Array.of(0x83)));
});
