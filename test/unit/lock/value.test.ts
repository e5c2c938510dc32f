// Notes and addresses in the value of a key: bounded so that older clients read the value too.

import { expect, test } from 'vitest';
import { type HolderRecord, parseValue, renderValue } from '../../../src/lock/value.ts';
import { parseWaiterId } from '../../../src/lock/waiter-id.ts';

const plain: HolderRecord = {
  host: 'web1',
  pid: 7,
  user: 'ops',
  label: 'a',
  since: '2026-11-21T01:00:00.000Z',
};
const url = 'https://ci.example.com/7';

test.each([
  [plain],
  [{ ...plain, note: 'release 4.2' }],
  [{ ...plain, url }],
  [{ ...plain, note: 'release "4.2"', url }],
  [{ ...plain, keptMs: 60_000 }],
])('%j is read as it was written', (record) => {
  expect(parseValue(renderValue('t', record))).toEqual({ token: 't', record });
});

test('what another client has put there is bounded, and nothing but text', () => {
  const value = `t ${JSON.stringify({ ...plain, note: 'x'.repeat(9_000), url: 'y'.repeat(251) })}`;
  expect(parseValue(value).record).toEqual({ ...plain, note: 'x'.repeat(200) });
  for (const wrong of [{ note: 3, url: {} }, { keptMs: -1 }, { keptMs: 'long' }, { keptMs: 0.5 }])
    expect(parseValue(`t ${JSON.stringify({ ...plain, ...wrong })}`).record).toEqual(plain);
});

test.each([
  ['a note of wide characters', { ...plain, note: '\u{1f512}'.repeat(200), url }],
  [
    'a note that JSON escapes',
    { ...plain, note: '"'.repeat(200), url: `${url}${'?'.repeat(220)}` },
  ],
  [
    'long names as well',
    {
      ...plain,
      host: '\u4e00'.repeat(80),
      user: '\u4e00'.repeat(80),
      label: '\u4e00'.repeat(80),
      note: 'x'.repeat(200),
      url: `${url}${'?'.repeat(220)}`,
    },
  ],
])('%s: the value fits into what a refusal tells', (_, record) => {
  const value = renderValue('t'.repeat(27), record);
  expect(Buffer.byteLength(value)).toBeLessThanOrEqual(1_000);
  const read = parseValue(value).record;
  expect(read?.host).toBe(record.host);
  expect(record.note.startsWith(read?.note ?? '')).toBe(true);
});

test('of a note that does not fit beside long names, the beginning is kept', () => {
  const names = { host: '\u4e00'.repeat(80), user: '\u4e00'.repeat(80), label: 'a' };
  const value = renderValue('t', { ...plain, ...names, note: '\u4e00'.repeat(200) });
  expect(Buffer.byteLength(value)).toBeLessThanOrEqual(1_000);
  expect(parseValue(value).record?.note).toMatch(/^\u4e00{50,190}$/);
});

test.each([
  ['shared:random:1@host', { who: '1@host' }],
  ['shared:random:1@host/ops/a/release 4.2: now', { who: '1@host/ops/a/release 4.2: now' }],
])('the waiter %s', (id, expected) => {
  expect(parseWaiterId(id)).toEqual({ traits: ['shared'], ...expected });
});
