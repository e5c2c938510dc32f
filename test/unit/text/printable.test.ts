// Foreign text as one line of a limited length that does not act on a terminal.

import { expect, test } from 'vitest';
import { textOf } from '../../../src/text/bytes.ts';
import { oneLine, printable, printableLines } from '../../../src/text/foreign-text.ts';

test.each([
  ['a line break', 'a\nb', 'a\\nb'],
  ['an escape sequence', '\u001b[31mred', '\\u001b[31mred'],
  ['the title of a window', '\u001b]0;x\u0007', '\\u001b]0;x\\u0007'],
  ['DEL', 'a\u007fb', 'a\\u007fb'],
  ['C1', '\u009b31m', '\\u009b31m'],
  ['bidi', '\u202eabc\u2066', '\\u202eabc\\u2066'],
  ['separators', 'a\u2028b\u2029', 'a\\u2028b\\u2029'],
  ['a mark of byte order', '\ufeffa', '\\ufeffa'],
  ['a direction for Arabic', '\u061ca\u200e\u200f', '\\u061ca\\u200e\\u200f'],
  ['bytes that are no UTF-8', textOf(Buffer.from([0x61, 0x82, 0xff])), 'a\\x82\\xff'],
  ['half of a pair', 'a\ud83d', 'a\\ud83d'],
  ['commands of GitHub Actions', ' ::a::b', ' \\u003a:a::b'],
  ['commands of GitHub Actions, of old', 'a ##[b]', 'a \\u0023#[b]'],
  ['commands of Azure Pipelines', 'a###vso[b]', 'a\\u0023\\u0023#vso[b]'],
  [
    'commands with what .NET ignores',
    '\u200b:\u00ad:a #\u200d#[',
    '\u200b\\u003a\u00ad:a \\u0023\u200d#[',
  ],
  ['what is no command', '[::1]:6379 a::b c:: # 1 #[', '[::1]:6379 a::b c:: # 1 #['],
  ['letters of all kinds', 'Grüße 你好', 'Grüße 你好'],
])('%s', (_, text, shown) => {
  expect(oneLine(text)).toBe(shown);
  expect(printable(text)).toBe(shown);
});

test('no line of several is a command of a CI system, and escapes are not escaped again', () => {
  const shown = 'a\\u0023#[\n  \\u003a:b';
  expect(printableLines('a##[\n  ::b')).toBe(shown);
  expect(oneLine(oneLine('::##['))).toBe(oneLine('::##['));
});

test('text of several lines keeps them, and no other control character', () => {
  expect(printableLines('a\n\u001b[2Jb\r\n')).toBe('a\n\\u001b[2Jb\\u000d\n');
});

test('a long text is cut, also where escapes make it long', () => {
  expect(printable('x'.repeat(5), 5)).toBe('xxxxx');
  expect(printable('x'.repeat(6), 5)).toBe('xxxxx...');
  expect(printable('\u001b'.repeat(6), 6)).toBe('\\u001b...');
  expect(printable('x'.repeat(50_000_000), 10)).toBe('xxxxxxxxxx...');
});
