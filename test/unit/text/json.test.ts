// JSON that is safe on a terminal, and that JSON.parse reads unchanged.

import { expect, test } from 'vitest';
import { jsonLine } from '../../../src/text/foreign-text.ts';

test.each([
  ['DEL', '\u007f'],
  ['C1', '\u009b31m'],
  ['bidi', '\u202e\u2066\u200f\u061c'],
  ['separators', '\u2028\u2029'],
  ['a mark of byte order', '\ufeff'],
  ['C0', '\u001b[31m\n'],
])('%s is written as an escape, in names and in values', (_, text) => {
  const value = { [text]: [text] };
  const line = jsonLine(value);
  expect(line).toMatch(/^[ -~]*\n$/);
  expect(JSON.parse(line)).toEqual(value);
});

test('a command of a CI system is none, and reads unchanged', () => {
  const value = { '##[a': ' ::b ##vso[c] \\##teamcity[d]' };
  const line = jsonLine(value);
  expect(line).not.toMatch(/##| ::/);
  expect(JSON.parse(line)).toEqual(value);
});

test('letters of all kinds stay', () => {
  expect(jsonLine({ a: 'Grüße 你好 😀' })).toBe('{"a":"Grüße 你好 😀"}\n');
});
