// Which texts are durations. A bare number is seconds; nearly every text outside of the first table
// is refused.

import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { ValueError } from '../../../src/text/errors.ts';
import { parseDuration, renderDuration } from '../../../src/text/time.ts';

const anyDuration = fc.nat({ max: 2 ** 52 });

describe('reads', () => {
  test.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['1h30m', 5_400_000],
    ['1d2h3m4s5ms', 93_784_005],
    ['1m5ms', 60_005],
    ['0.5s', 500],
    ['1.5h', 5_400_000],
    ['.5', 500],
    ['30', 30_000],
    ['0.25', 250],
    ['0', 0],
    ['0s', 0],
    ['007', 7_000],
    ['0.0001', 1],
    ['0.0ms', 0],
    ['.4ms', 1],
    ['1.0005s', 1_001],
  ])('%s as %d ms', (text, ms) => expect(parseDuration(text)).toBe(ms));
});

describe('refuses', () => {
  test.each([
    ...[
      '',
      ' ',
      ' 5s',
      '5s ',
      '5 s',
      '5\n',
      '-5s',
      '-5',
      '+5s',
      '1e3',
      '1e3s',
      'NaN',
      'Infinity',
      '0x10',
      '1_000',
      '1,5s',
    ],
    ...[
      '30 potatoes',
      'potatoes',
      '5S',
      '5sec',
      '5M',
      '1w',
      '1m1m',
      '30m1h',
      '5ms1s',
      's',
      'ms',
      '.',
      '.s',
      '5.',
      '5.s',
    ],
    ...['01:30', 'PT30S', '10s foo', '٣s'],
  ])('%j', (text) => {
    expect(() => parseDuration(text)).toThrow(ValueError);
    expect(() => parseDuration(text)).toThrow(/^"[^\n]*": not a duration \(write [^\n]*\)$/);
  });
});

it('reads a number that is too large as the largest safe integer', () => {
  for (const text of ['9007199254740993ms', '9'.repeat(400), `${'9'.repeat(30)}s`]) {
    expect(parseDuration(text)).toBe(Number.MAX_SAFE_INTEGER);
  }
});

describe('renders', () => {
  test.each([
    [0, '0s'],
    [1, '1ms'],
    [999, '999ms'],
    [1_000, '1s'],
    [1_500, '1.5s'],
    [90_000, '1m30s'],
    [3_600_000, '1h'],
    [90_061_001, '1d1h1m1.001s'],
  ])('%d ms as %s', (ms, text) => expect(renderDuration(ms)).toBe(text));
});

it('reads back every rendered duration', () => {
  fc.assert(
    fc.property(anyDuration, (ms) => void expect(parseDuration(renderDuration(ms))).toBe(ms)),
  );
});

it('reads every whole number of seconds the same with and without its unit', () => {
  fc.assert(
    fc.property(
      fc.nat(),
      (count) => void expect(parseDuration(`${count}`)).toBe(parseDuration(`${count}s`)),
    ),
  );
});

it('returns a safe integer of 0 or more, or throws a ValueError', () => {
  const args = fc
    .array(fc.constantFrom('1', '2.5', 'ms', 's', 'm', 'h', 'd', '.', '-', ' ', 'e'))
    .map((all) => all.join(''));
  fc.assert(
    fc.property(fc.oneof(args, fc.string()), (text) => {
      try {
        expect(parseDuration(text)).toBeGreaterThanOrEqual(0);
        expect(Number.isSafeInteger(parseDuration(text))).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(ValueError);
      }
    }),
  );
});
