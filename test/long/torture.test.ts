// `npm run torture` on this machine for some seconds: it can fail, and it leaves nothing behind.
// What it finds in minutes and hours is in docs/results/torture.md.

import { expect, test } from 'vitest';
import { judgeSections } from '../torture/judge.ts';
import { expectFinding, torture } from '../torture/played.ts';
import type { Section } from '../torture/witness.ts';

test.concurrent('a short run: no finding', async () => {
  const { status, stdout } = await torture('--minutes', '0.2', '--seed', '1');
  expect([status, stdout]).toEqual([0, expect.stringMatching(/ sections, [1-9]\d* faults, 0 f/)]);
});

test.concurrent.each([
  ['lock', /^ {2}(overlap|fence): /m],
  ['guard', /^ {2}(overlap|outlived): /m],
])('--break %s: a finding, and how to see it again', expectFinding);

const section = (
  begunAt: number,
  lastAt: number,
  fence: number,
  { lock = 'a', form = 'x' } = {},
): Section => {
  const run = `r${fence}`;
  const what = { lock, form, token: run, run, shape: 'plain' };
  return { ...what, fence, begunAt, lastAt, endedAt: lastAt, begunCount: 1 };
};

test.each([
  ['one after the other', [section(1, 2, 1), section(2.1, 3, 2)], []],
  ['the next begins too soon', [section(1, 2, 1), section(1.9, 3, 2)], ['overlap']],
  ['a long one around two', [section(1, 9, 1), section(2, 3, 2), section(4, 5, 3)], 2],
  ['the number falls', [section(1, 2, 2), section(3, 4, 1)], ['fence']],
  ['the number stays', [section(1, 2, 2), section(3, 4, 2)], ['fence']],
  ['two shared', [section(1, 9, 1, { form: 's' }), section(2, 3, 1, { form: 's' })], []],
  ['a shared beside it', [section(1, 9, 1), section(2, 3, 2, { form: 's' })], ['overlap']],
  ['two slots', [section(1, 9, 1, { form: '1' }), section(2, 3, 2, { form: '2' })], []],
  ['one slot', [section(1, 9, 1, { form: '2' }), section(2, 3, 2, { form: '2' })], ['overlap']],
  ['one of two names', [section(1, 9, 1, { lock: 'b,a' }), section(2, 3, 2)], ['overlap']],
  ['begun twice', [{ ...section(1, 2, 1), begunCount: 2 }], ['twice']],
  ['no number', [section(1, 2, Number.NaN), section(3, 4, 1)], ['fence']],
])('judged: %s', (_, sections, expected) => {
  const kinds = judgeSections(sections).map(({ kind }) => kind);
  expect(Array.isArray(expected) ? kinds : kinds.length).toEqual(expected);
});
