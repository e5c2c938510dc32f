// Quoted text in messages: always one line, never a password.

import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { ConfigError, fileError, UsageError } from '../../../src/text/errors.ts';
import { oneLine, quoted, withoutPasswords } from '../../../src/text/foreign-text.ts';
import { anyText } from '../any-text.ts';

const oneVisibleLine = /^[^\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]*$/u;

test.each([
  [new UsageError('a\nb'), 64],
  [new ConfigError('a\nb'), 78],
])('%s has one line and an exit code', (error, exitCode) => {
  expect(error).toMatchObject({ message: 'a\\nb', exitCode });
});

it('is one visible line for any text', () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      expect(oneLine(text)).toMatch(oneVisibleLine);
      expect(quoted(text)).toMatch(oneVisibleLine);
    }),
  );
});

describe('quoted', () => {
  test.each([
    ['a', '"a"'],
    ['a "b"', '"a \\"b\\""'],
    ['\u001b[31m', '"\\u001b[31m"'],
    ['\u009b\u2028\u202e', '"\\u009b\\u2028\\u202e"'],
    ['x'.repeat(81), `"${'x'.repeat(80)}…"`],
    ['🔒'.repeat(81), `"${'🔒'.repeat(80)}…"`],
    ['redis://u:p@h', '"redis://***@h"'],
  ])('%j', (text, expected) => expect(quoted(text)).toBe(expected));

  it('removes the password before it cuts', () => {
    expect(quoted(`redis://u:${'s3cr3t'.repeat(50)}@h`)).toBe('"redis://***@h"');
  });
});

describe('withoutPasswords', () => {
  test.each([
    ['redis://u:p@h:1/2', 'redis://***@h:1/2'],
    ['redis://:p@h', 'redis://***@h'],
    ['redis://:p/q@r:s@h', 'redis://***@h'],
    ['--url=https://u:p@h and rediss://v:q@i', '--url=https://u:***@h and rediss://***@i'],
    ['redis://s3cr3t@h', 'redis://***@h'],
    ['VALKEYS://u%3As3cr3t@h/1', 'VALKEYS://***@h/1'],
    ['redis+sentinel://s3cr3t@h', 'redis+sentinel://***@h'],
    ['https://u@h', 'https://u@h'],
    ['https://h:80/x', 'https://h:80/x'],
    ['user@host:path', 'user@host:path'],
  ])('%s', (text, expected) => expect(withoutPasswords(text)).toBe(expected));
});

describe('fileError', () => {
  const failed = (code: string) => Object.assign(new Error('x'), { code });

  test.each([
    [failed('ENOENT'), 'no such file'],
    [failed('ENOTDIR'), 'no such file'],
    [failed('EACCES'), 'permission denied'],
    [failed('EISDIR'), 'is a directory'],
    [failed('EIO'), 'cannot be read: EIO'],
    ['odd', 'cannot be read: unknown error'],
  ])('%s', (error, expected) => expect(fileError(error, 'read')).toBe(expected));

  test.each([
    [failed('ENOENT'), 'no such directory'],
    [failed('ENOSPC'), 'no space left'],
    [failed('EIO'), 'cannot be written: EIO'],
  ])('%s, of what was to be written', (error, expected) =>
    expect(fileError(error, 'written')).toBe(expected),
  );
});
