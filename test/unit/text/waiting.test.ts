// The line that tells of a wait.

import { expect, test } from 'vitest';
import { renderValue } from '../../../src/lock/value.ts';
import { heldByLine, waitingHead, waitingLine } from '../../../src/text/lines.ts';

const record = { host: 'web1', pid: 4711, user: 'ops', label: 'deploy.sh' };
const since = '2026-11-21T02:00:00.314Z';
const ours = renderValue('token', { ...record, since });
const at = (time: string) => Date.parse(`2026-11-21T${time}Z`);

test.each([
  [ours, 5_000, 1, at('02:03:20.900'), 'held by ops@web1 (pid 4711, deploy.sh) for 3m20s'],
  [ours, 5_000, 1, at('01:59:00'), 'held by ops@web1 (pid 4711, deploy.sh) for 0s'],
  [
    renderValue('token', { ...record, since, keptMs: 60_000 }),
    5_000,
    1,
    at('02:00:10'),
    'held by ops@web1 (pid 4711, deploy.sh) for 9s; ' +
      'kept 1m at least, also after its run (--hold-at-least)',
  ],
  [
    renderValue('token', { ...record, since: '?' }),
    5,
    1,
    0,
    'held by ops@web1 (pid 4711, deploy.sh)',
  ],
  ['0af3', 5_000, 1, 0, 'held by another program (value 0af3)'],
  ['0af3', null, 1, 0, 'held by another program (value 0af3); it never expires by itself'],
  ['slots 3', 5_000, 1, 0, 'held on slots, 3 in all'],
  ['', 5_000, 1, 0, 'free, but other waiters are ahead in the queue'],
  ['a', 5, 2, 0, 'masters show 2 holders, on some it is held by another program (value a)'],
])('%.20j, %j ms, %d', (value, remainingMs, count, nowMs, line) => {
  expect(heldByLine(value, remainingMs, count, nowMs)).toBe(line);
});

const usual = { names: ['deploy'], waitedMs: 72_900, waitMs: 600_000, position: 1, why: 'why' };
test.each([
  [{}, 'waiting 1m12s (of 10m) for "deploy": 2nd in the queue; why'],
  [{ waitMs: null }, 'waiting 1m12s for "deploy": 2nd in the queue; why'],
  [{ position: null, waitedMs: 12 }, 'waiting 0s (of 10m) for "deploy": why'],
  [{ names: ['a', 'b'], position: 0 }, 'waiting 1m12s (of 10m) for "a" "b": 1st in the queue; why'],
])('%j', (facts, line) => {
  expect(waitingLine({ ...usual, ...facts })).toBe(line);
});

test.each([
  [2, '3rd'],
  [3, '4th'],
  [10, '11th'],
  [11, '12th'],
  [12, '13th'],
  [20, '21st'],
  [21, '22nd'],
  [110, '111th'],
])('%d before us: %s', (position, ordinal) => {
  expect(waitingLine({ ...usual, position })).toContain(`: ${ordinal} in the queue; `);
});

test('its head is told apart, which may have a colour', () => {
  expect(waitingHead(usual)).toBe('waiting 1m12s (of 10m)');
  expect(waitingLine(usual).startsWith(`${waitingHead(usual)} for `)).toBe(true);
});
