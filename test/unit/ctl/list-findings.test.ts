// What the doctor says about the lists of masters that hosts have used.

import { expect, test } from 'vitest';
import type { MasterFacts } from '../../../src/ctl/doctor/facts.ts';
import { listFindings } from '../../../src/ctl/doctor/list-findings.ts';
import { failed } from '../../../src/redis/errors.ts';
import type { UsedList } from '../../../src/redis/master-lists.ts';

const hourMs = 3_600_000;
const now = 1_000 * hourMs;
const down = failed('connection', 'down');

/** `letters`: the ids, which are addresses as well; `+` for each master that was not reached. */
function used(host: string, letters: string, agoMs: number): UsedList {
  const ids = [...letters].filter((letter) => letter !== '+');
  const addresses = new Map(ids.map((id) => [id, `${id}:6379`]));
  return { host, writtenAt: now - agoMs, configuredCount: letters.length, addresses };
}

const masterOf = (id: string, lists: readonly UsedList[] | null, since = 0) =>
  ({
    address: { name: `${id}:6379` },
    mark: { id, since, forMs: now - since },
    lists,
  }) as unknown as MasterFacts;

const mastersWith = (lists: readonly UsedList[] | null, since = 0) =>
  ['a', 'b', 'c'].map((id) => masterOf(id, lists, since));

const saidOf = (facts: Parameters<typeof listFindings>[0], isCompared = true) =>
  listFindings(facts, isCompared, now).map(({ grade, message }) => `${grade}: ${message}`);

test.each<[string, UsedList[], string[]]>([
  ['none', [], ['ok: no host has told which masters it uses']],
  [
    'the same, by two hosts',
    [used('web1', 'abc', hourMs), used('web2', 'cab', 2 * hourMs)],
    ['ok: these masters are those of web1 (1h ago), web2 (2h ago)'],
  ],
  [
    'one more than are named',
    [1, 2, 3, 4, 5, 6].map((hours) => used(`web${hours}`, 'abc', hours * hourMs)),
    [
      'ok: these masters are those of web1 (1h ago), web2 (2h ago), web3 (3h ago), ' +
        'web4 (4h ago), web5 (5h ago) and 1 more',
    ],
  ],
  [
    'a dangerous one',
    [used('web1', 'abc', hourMs), used('web2', 'ade', 2 * hourMs)],
    [
      'ok: these masters are those of web1 (1h ago)',
      'warning: web2 (2h ago) has 3 masters: a:6379, d:6379, e:6379',
    ],
  ],
  [
    'one master more, or not reached',
    [used('web2', 'abcd', hourMs), used('web3', 'ab+', hourMs)],
    [
      'ok: web2 (1h ago) has 4 masters: a:6379, b:6379, c:6379, d:6379',
      'ok: web3 (1h ago) has 3 masters: a:6379, b:6379 (1 not reached)',
    ],
  ],
  [
    'a dangerous one of two days ago, and one of eight',
    [used('web2', 'ade', 48 * hourMs), used('web3', 'ade', 192 * hourMs)],
    ['ok: web2 (2d ago) has 3 masters: a:6379, d:6379, e:6379'],
  ],
  [
    'only the last one of a host',
    [used('web1', 'ade', 2 * hourMs), used('web1', 'abc', hourMs)],
    ['ok: these masters are those of web1 (1h ago)'],
  ],
])('%s', (_title, lists, expected) => {
  expect(saidOf(mastersWith(lists))).toEqual(expected);
});

test('a dangerous list from before a master was emptied is shown, and no warning', () => {
  const lists = [used('web2', 'ade', 2 * hourMs)];
  const facts = [masterOf('a', lists), masterOf('b', [], now - 3 * hourMs), masterOf('c', [])];
  expect(saidOf(facts)[0]).toMatch(/^warning: web2/);
  const emptied = [masterOf('a', lists), masterOf('b', [], now - hourMs), masterOf('c', [])];
  expect(saidOf(emptied)).toEqual(['ok: web2 (2h ago) has 3 masters: a:6379, d:6379, e:6379']);
});

test('while a master is down there is no warning; where none tells, it is unknown', () => {
  const lists = [used('web2', 'abd', hourMs)];
  expect(saidOf(mastersWith(lists))[0]).toMatch(/^warning: web2/);
  const facts = [...mastersWith(lists).slice(0, 2), down];
  expect(saidOf(facts)).toEqual(['ok: web2 (1h ago) has 3 masters: a:6379, b:6379, d:6379']);
  expect(saidOf([...mastersWith(null), down])).toEqual([
    'unknown: no master tells which lists of masters are in use',
  ]);
  const unmarked = { ...masterOf('a', null), mark: { id: null, since: null, forMs: null } };
  expect(saidOf([unmarked, down])).toEqual(['ok: no host has told which masters it uses']);
  expect(saidOf(mastersWith(null), false)).toEqual(['ok: lists of masters are not compared here']);
});

test('what a host calls itself, and its addresses, reach no terminal unchanged', () => {
  const odd = {
    ...used('\u001b[31mweb', 'ab', hourMs),
    addresses: new Map([['z', '\u001b[2Jx']]),
  };
  const [said] = saidOf(mastersWith([odd]));
  expect(said).not.toContain('\u001b');
  expect(said).toContain('web');
});
