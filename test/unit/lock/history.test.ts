// Lines of a history as they are read: bounded, whatever program wrote them.

import { expect, test } from 'vitest';
import { parseRun, renderRun } from '../../../src/lock/history.ts';

const holder = { host: 'web2', pid: 1, user: 'ops', since: '2026-11-21T01:00:00.000Z', label: 'a' };
const past = {
  token: 't',
  note: null,
  url: null,
  lossReason: null,
  stoppedBy: null,
  unkillable: [],
  outcome: 'ran',
  host: 'web1',
  pid: 1,
  user: 'ops',
  label: 'backup',
  waitMs: 1,
  heldMs: 2,
  exitCode: 0,
  signal: null,
  status: 0,
  fence: 7,
  blocker: { token: 'b', record: holder },
};
const long = 'x'.repeat(100_000);
const longRecord = { ...holder, host: long, user: long, since: long, label: long, more: long };

test('a line of ours is read as it was written', () => {
  expect(parseRun(renderRun(past))).toEqual(past);
});

test.each([
  ...['outcome', 'host', 'user', 'label', 'signal', 'lossReason'].map(
    (field) => [field, 80] as const,
  ),
  ['token', 200] as const,
])('%s has %i characters at most', (field, most) => {
  const line = JSON.stringify({ v: 1, ...past, [field]: long });
  expect(parseRun(line)).toEqual({ ...past, [field]: 'x'.repeat(most) });
});

test('a blocker and unknown fields of a line take no more room than that', () => {
  const line = JSON.stringify({
    v: 1,
    ...past,
    blocker: { token: long, record: longRecord },
    more: long,
  });
  expect(JSON.stringify(parseRun(line)).length).toBeLessThan(1_000);
});

test.each([
  [
    { waitMs: 1e300, heldMs: 1e300 },
    { waitMs: 3_153_600_000_000, heldMs: 3_153_600_000_000 },
  ],
  [
    { waitMs: -1, heldMs: -1e300 },
    { waitMs: 0, heldMs: 0 },
  ],
])('times of no run: %j', (times, expected) => {
  expect(parseRun(JSON.stringify({ v: 1, ...past, ...times }))).toMatchObject(expected);
});

test('processes that could not be killed are read as written, ten of them at most', () => {
  const unkillable = Array.from({ length: 1_000 }, (_, at) => ({ pid: at + 1, user: long }));
  const line = renderRun({ ...past, unkillable });
  expect(line.length).toBeLessThan(3_000);
  const read = unkillable.slice(0, 10).map(({ pid }) => ({ pid, user: 'x'.repeat(80) }));
  expect(parseRun(line)?.unkillable).toEqual(read);
});

test('processes without a pid make it no line', () => {
  const line = JSON.stringify({ v: 1, ...past, unkillable: [{ user: 'root' }] });
  expect(parseRun(line)).toBe(null);
});

test('a reason that is no text makes it no line', () => {
  expect(parseRun(JSON.stringify({ v: 1, ...past, lossReason: 7 }))).toBe(null);
});
