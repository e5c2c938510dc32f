// Readers of replies: what fits is read, and whatever does not is a vote that was not given, with
// one line that says why.

import { describe, expect, test } from 'vitest';
import {
  as,
  byFirst,
  decimal,
  integer,
  listOf,
  oneOf,
  orNull,
  readReply,
  record,
  type Shape,
  text,
  tuple,
} from '../../../src/redis/replies.ts';

const whole = tuple(oneOf(1), text(3), listOf(integer(1), 2));

describe('what fits is read', () => {
  test.each<[string, Shape<unknown>, unknown, unknown]>([
    ['an integer', integer(), -5, -5],
    ['one at its bound', integer(0, 7), 7, 7],
    ['text', text(3), 'abc', 'abc'],
    ['empty text', text(3), '', ''],
    ['digits', decimal(), '0042', 42],
    ['nil where it may be', orNull(text(3)), null, null],
    ['an empty list', listOf(text(3), 2), [], []],
    ['names', record({ a: integer() }, { b: text(3) }), ['b', 'x', 'a', 1], { a: 1, b: 'x' }],
    ['those that must be there', record({ a: integer() }, { b: text(3) }), ['a', 1], { a: 1 }],
    ['a tuple', whole, [1, 'abc', [1, 2]], [1, 'abc', [1, 2]]],
    [
      'by its first item',
      byFirst({ 1: as(tuple(integer()), () => 'yes'), 0: as(tuple(), () => 'no') }),
      [0],
      'no',
    ],
  ])('%s', (_, shape, reply, read) => {
    expect(readReply(shape, reply)).toEqual(read);
  });
});

describe('what does not fit is no vote', () => {
  const shapes: Record<string, Shape<unknown>> = {
    integer: integer(0, 9),
    text: text(3),
    decimal: decimal(),
    oneOf: oneOf(1, 2),
    listOf: listOf(integer(), 2),
    tuple: whole,
    record: record({ a: integer() }, { b: text(3) }),
    byFirst: byFirst({ 1: record({ a: integer() }) }),
  };
  const nonsense: unknown[] = [
    null,
    undefined,
    -1,
    10.5,
    2 ** 53,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    'abcd',
    true,
    {},
    new Map(),
    new Error('ERR no'),
    [null],
    [[]],
    ['1'],
    [1],
    [1, 'abcd', []],
    [1, 'abc', [0]],
    [1, 'abc', [1, 2, 3]],
    [1, 'abc', [1], 1],
    ['__proto__'],
    ['a'],
    ['a', 'x'],
    ['a', 1, 'a', 1],
    ['a', 1, 'c', 1],
    ['b', 'x'],
  ];
  const pairs = Object.entries(shapes).flatMap(([name, shape]) =>
    nonsense.map((reply) => [name, reply, shape] as const),
  );
  const fits = new Set(['listOf [1]']);

  test.each(pairs)('%s of %j', (name, reply, shape) => {
    const read = readReply(shape, reply);
    if (fits.has(`${name} ${JSON.stringify(reply)}`)) return expect(read).toEqual(reply);
    expect(read).toEqual({
      kind: 'failed',
      cause: 'reply',
      message: expect.stringMatching(/^unexpected reply: .{3,40} instead of [ -~]{4,70}$/),
      advice: expect.any(String),
    });
  });
});

test('what came is told by kind and size, and never by content', () => {
  expect(readReply(integer(), 'secret')).toMatchObject({
    message: 'unexpected reply: text of 6 characters instead of a whole number',
  });
  expect(readReply(text(2), 7)).toMatchObject({
    message: 'unexpected reply: the number 7 instead of text',
  });
});

test('a bug of a reader is no failed vote', () => {
  const broken: Shape<never> = () => {
    throw new TypeError('ours');
  };
  expect(() => readReply(broken, 1)).toThrow('ours');
});
