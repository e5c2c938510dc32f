// The line about a wait.

import { expect, test } from 'vitest';
import { waitingHead, waitingTail } from '../../../src/cli/wait-notice.ts';
import { renderValue } from '../../../src/lock/value.ts';
import { heldByLine } from '../../../src/text/lines.ts';

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

test.each([
  [72_900, 600_000, 'waiting 1m12s (of 10m)'],
  [72_900, null, 'waiting 1m12s'],
  [12, 600_000, 'waiting 0s (of 10m)'],
])('%d ms of %j', (waitedMs, waitMs, head) => expect(waitingHead(waitedMs, waitMs)).toBe(head));

test.each([
  [['deploy'], 1, '"deploy": 2nd in the queue; why'],
  [['deploy'], null, '"deploy": why'],
  [['a', 'b'], 0, '"a" "b": 1st in the queue; why'],
])('%j, %j', (names, position, tail) => expect(waitingTail(names, position, 'why')).toBe(tail));

test.each([
  [2, '3rd'],
  [3, '4th'],
  [10, '11th'],
  [11, '12th'],
  [12, '13th'],
  [20, '21st'],
  [21, '22nd'],
  [110, '111th'],
])('%d ahead of us: %s', (position, ordinal) => {
  expect(waitingTail(['a'], position, 'why')).toContain(`: ${ordinal} in the queue; `);
});
