// What the doctor shows of the sets of masters that hosts have recorded.

import { expect, test } from 'vitest';
import { findingsOf } from '../../../src/ctl/doctor/findings.ts';
import type { SeenMaster } from '../../../src/ctl/doctor/master-checks.ts';
import { listChecks } from '../../../src/ctl/doctor/set-checks.ts';
import type { Failed } from '../../../src/lock/types.ts';
import { failed } from '../../../src/redis/errors.ts';
import type { UsedSet } from '../../../src/redis/identity.ts';

const hourMs = 3_600_000;
const now = 1_000 * hourMs;
const down = failed('connection', 'down');

const used = (host: string, ids: string, agoMs: number): UsedSet => ({
  host,
  ids: [...ids],
  usedAt: now - agoMs,
});

const masterOf = (id: string | null, sets: readonly UsedSet[], since = 0) =>
  ({
    address: { name: `${id}:6379` },
    mark: { id, since, sets },
  }) as unknown as SeenMaster;

const mastersWith = (...sets: readonly UsedSet[]) =>
  ['a', 'b', 'c'].map((id) => masterOf(id, sets));

const shownOf = (masters: readonly (SeenMaster | Failed)[], isCompared = true) =>
  findingsOf(listChecks, null, { masters, isCompared, now }).map(
    ({ grade, message }) => `${grade}: ${message}`,
  );

test.each<[string, UsedSet[], string[]]>([
  ['none', [], ['ok: no host has recorded which masters it uses']],
  ['the same', [used('web1', 'abc', hourMs)], ['ok: these masters are those of web1 (1h ago)']],
  [
    'a dangerous one',
    [used('web2', 'ade', 2 * hourMs), used('web1', 'abc', hourMs)],
    [
      'ok: these masters are those of web1 (1h ago)',
      'warning: web2 (2h ago) has 3 masters: a:6379 and 2 that are not configured here',
    ],
  ],
  [
    'one master fewer',
    [used('web3', 'ab', hourMs)],
    ['ok: web3 (1h ago) has 2 masters: a:6379, b:6379'],
  ],
  [
    'a dangerous one of two days ago',
    [used('web2', 'ade', 48 * hourMs)],
    ['ok: web2 (2d ago) has 3 masters: a:6379 and 2 that are not configured here'],
  ],
])('%s', (_title, sets, expected) => {
  expect(shownOf(mastersWith(...sets))).toEqual(expected);
});

test('one that masters report differently is shown as it was used last', () => {
  const facts = [
    masterOf('a', [used('web1', 'ab', 2 * hourMs)]),
    masterOf('b', [used('web2', 'ab', hourMs)]),
  ];
  expect(shownOf(facts)).toEqual(['ok: these masters are those of web2 (1h ago)']);
});

test('a dangerous set from before a master was emptied is shown, and no warning', () => {
  const sets = [used('web2', 'ade', 2 * hourMs)];
  const emptied = [masterOf('a', sets), masterOf('b', [], now - hourMs), masterOf('c', [])];
  expect(shownOf(emptied)).toEqual([expect.stringMatching(/^ok: web2/)]);
});

test('nothing is compared while a master is down, unmarked or hides its mark', () => {
  const marked = mastersWith(used('web2', 'ade', hourMs)).slice(0, 2);
  const waiting = [expect.stringMatching(/^ok: .* not compared until every master/)];
  expect(shownOf([...marked, down])).toEqual(waiting);
  expect(shownOf([...marked, masterOf(null, [])])).toEqual(waiting);
  expect(shownOf([...marked, { ...masterOf('c', []), mark: null }])).toEqual([
    'unknown: not every master shows which lists of masters are in use',
  ]);
  expect(shownOf(marked, false)).toEqual(['ok: lists of masters are not compared here']);
});

test('what a host calls itself reaches no terminal unchanged', () => {
  const [shown] = shownOf(mastersWith(used('\u001b[31mweb', 'a', hourMs)));
  expect(shown).not.toContain('\u001b');
  expect(shown).toContain('web');
});
