// Lines for people on a terminal: no word is cut where a row ends.

import { expect, test } from 'vitest';
import { fitted } from '../../../src/cli/rows.ts';

test.each([
  ['NAME    STATE  VOTES', 20, 'NAME    STATE  VOTES'],
  ['deploy  held   3/3    ops@web1', 20, 'deploy  held   3/3\n    ops@web1'],
  ['  why: one two three', 12, '  why: one\n      two\n      three'],
  ['a\n\n  b  c\n', 3, 'a\n\n  b\n c\n'],
  ['https://ci.example.com/job/7', 10, 'https://ci.example.com/job/7'],
  ['日本語 日本語', 8, '日本語\n    日本語'],
])('%j in %i columns', (text, columns, expected) => {
  expect(fitted(text, columns)).toBe(expected);
});

test('without a terminal nothing is broken', () => {
  const line = 'word '.repeat(100);
  expect(fitted(line, null)).toBe(line);
});
