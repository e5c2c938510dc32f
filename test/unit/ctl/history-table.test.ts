// The table of past runs fits the terminal, and tells everything.

import { expect, test } from 'vitest';
import type { PastRun } from '../../../src/ctl/history/run-history.ts';
import { historyRows, renderHistory } from '../../../src/ctl/history/run-text.ts';
import { blocker, run } from './past-run.ts';

const missed = { ...run, heldMs: null, acquiredAt: null, outcome: 'busy', blocker };

const tableOf = (runs: readonly PastRun[], isOneName: boolean, columns: number | null) =>
  renderHistory(historyRows(runs, [], []), isOneName, columns);
const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length));

test.each([
  [true, 80, {}],
  [false, 80, {}],
  [false, 70, {}],
  [true, 80, { host: 'a-host-with-a-very-long-name.example.org', label: 'l'.repeat(30) }],
])('of one name: %j, %d columns, %j', (isOneName, columns, more) => {
  const text = tableOf([run, { ...missed, ...more }], isOneName, columns);
  expect(widest(text)).toBeLessThanOrEqual(columns);
  expect(text.includes('nightly-backup')).toBe(!isOneName);
  expect(text.replace(/\s+/g, ' ')).toMatch(
    /did not run .*held by ops@web2, pid 4711, restore\.sh/,
  );
  expect(text).toMatch(/4711 (backup\.sh|l{30})/);
});

test('the host stands in a column where there is room', () => {
  const [head] = tableOf([run], true, 80).split('\n');
  expect(head).toMatch(/^BEGAN +WHO +WAITED +HELD +WHAT BECAME OF IT$/);
  expect(tableOf([run], true, 200)).not.toMatch(/^ /m);
});

test.each(['web1', 'a-host-with-a-very-long-name.example.org'])(
  'without a terminal the columns are the same for %s',
  (host) => {
    const [head] = tableOf([{ ...run, host }], true, null).split('\n');
    expect(head).toMatch(/^BEGAN +WHO +WAITED +HELD +WHAT BECAME OF IT$/);
  },
);

test('a long command is whole where there is room for it', () => {
  const label = 'nightly-backup-of-customer-db.sh';
  expect(tableOf([{ ...run, label }], true, 200)).toContain(`ops@web1 4711 ${label} `);
});

test('the number and the command are whole beside the longest names', () => {
  const long = { user: 'u'.repeat(80), host: 'h'.repeat(80), label: 'backup.sh' };
  expect(tableOf([{ ...run, ...long }], true, null)).toMatch(/ u{45}\.\.\. 4711 backup\.sh /);
});

test('a note is not cut at a colon of its own', () => {
  const noted = { ...run, exitCode: 3, note: 'for: web2', url: null };
  expect(tableOf([noted], true, null)).toMatch(/ exit code 3 \(note "for: web2"\)\n$/);
});

test('without runs nothing', () => {
  expect(tableOf([], true, 80)).toBe('');
});
