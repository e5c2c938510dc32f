// Which lists of masters are a danger to one another: by counting all quorums of small lists, and
// by the steps and accidents of operation.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { quorumOf } from '../../../src/lock/quorum.ts';
import {
  couldBothGrant,
  differenceIn,
  differenceLine,
  type MasterList,
  OwnList,
  parseLists,
  type SeenLists,
  textOfList,
} from '../../../src/redis/master-lists.ts';

/** `abc`: reached masters; `abc?`: and one that was not. */
function list(text: string): MasterList {
  const ids = [...text].filter((letter) => letter !== '?');
  return {
    configuredCount: text.length,
    addresses: new Map(ids.map((id) => [id, `${id}:6379`])),
  };
}

/** All subsets of a quorum's size. */
function quorums(list: readonly string[]): string[][] {
  const all = Array.from({ length: 2 ** list.length }, (_, bits) =>
    list.filter((_, at) => bits & (2 ** at)),
  );
  return all.filter(({ length }) => length === quorumOf(list.length));
}

function haveDisjointQuorums(ours: readonly string[], theirs: readonly string[]): boolean {
  const others = quorums(theirs);
  return quorums(ours).some((one) => others.some((other) => !one.some((id) => other.includes(id))));
}

/** Each way in which masters of theirs may be masters of ours, where one of the two is unknown. */
function* identities(ours: readonly string[], theirs: readonly string[]): Generator<string[]> {
  const [first, ...rest] = theirs;
  if (first === undefined) return yield [];
  for (const one of [first, ...ours]) {
    if (one !== first && !/[?!]/.test(one + first)) continue;
    if (ours.includes(first) && one !== first) continue;
    if (one !== first && theirs.includes(one)) continue;
    const left = ours.filter((id) => id !== one);
    for (const others of identities(left, rest)) yield [one, ...others];
  }
}

describe('couldBothGrant', () => {
  const words = ['a', 'ab', 'abc', 'abcd', 'b', 'bc', 'cde', 'def', 'cdef', 'abx', ''];
  const lists = words
    .flatMap((word) => ['', '?', '??', '???'].map((rest) => word + rest))
    .filter(({ length }) => length >= 1 && length <= 4);
  const pairs = lists.flatMap((ours) => lists.map((theirs) => [ours, theirs] as const));

  test(`as counting all quorums says, for ${pairs.length} pairs of lists`, () => {
    const wrong = pairs.filter(([ours, theirs]) => {
      const named = (text: string, mark: string) =>
        [...text].map((id, at) => (id === '?' ? `${mark}${at}` : id));
      const [a, b] = [named(ours, '?'), named(theirs, '!')];
      const ways = [...identities(a, b)];
      const isDanger = ways.every((way) => haveDisjointQuorums(a, way));
      return couldBothGrant(list(ours), list(theirs)) !== isDanger;
    });
    expect(wrong).toEqual([]);
  });

  test.each([
    ['abc', 'abc', false, 'the same'],
    ['abc', 'ade', true, 'three and three with one in common'],
    ['abc', 'abd', true, 'one replaced by another in one step'],
    ['abc', 'abcde', true, 'three and five'],
    ['abc', 'abcd', false, 'three and four'],
    ['abcd', 'abcde', false, 'four and five'],
    ['abcd', 'abd', false, 'four and three'],
    ['abc', 'def', true, 'nothing in common'],
    ['ab?', 'abd', false, 'one of ours is down'],
    ['abc', 'ab?', false, 'one of theirs was down'],
    ['a?c', 'ade', true, 'one of ours is down, and cannot be two of theirs'],
    ['a??', 'ade', false, 'two of ours are down'],
    ['abcd?', 'abc', true, 'three and five, one of them down'],
    ['a', 'abc', true, 'one and three'],
    ['a', 'b', true, 'one and another one'],
  ])('%s and %s: %s (%s)', (ours, theirs, expected) => {
    expect(couldBothGrant(list(ours), list(theirs))).toBe(expected);
    expect(couldBothGrant(list(theirs), list(ours))).toBe(expected);
  });
});

const now = 1_000_000_000;
const hourMs = 3_600_000;

/** Our masters, each with what it has told of other hosts. */
function seen(ids: string, theirs: string, agoMs: number, markedMs = 1_000 * hourMs): SeenLists[] {
  const used = { host: 'web1', writtenAt: now - agoMs, ...list(theirs) };
  return [...ids].map((id) => ({
    name: `${id}:6379`,
    mark: { id, since: now - markedMs },
    lists: [used],
  }));
}

test.each([
  ['an hour ago', seen('abc', 'ade', hourMs), true],
  ['two days ago', seen('abc', 'ade', 48 * hourMs), false],
  ['before one of our masters was replaced', seen('abc', 'abd', hourMs, hourMs / 2), false],
])('another list that was used %s', (_when, told, isTold) => {
  expect(differenceIn(told, 3, now) !== null).toBe(isTold);
});

test('the difference names the host and the masters, as on the page', () => {
  const page = readFileSync(new URL('../../../docs/masters.md', import.meta.url), 'utf8');
  const difference = differenceIn(seen('abc', 'ade', 1), 3, now);
  expect(difference).toMatchObject({ master: 'a:6379', host: 'web1' });
  expect(difference && differenceLine(difference)).toBe(
    "this host's masters could grant a lock beside web1's: it has d:6379, e:6379 too " +
      'and does not have b:6379, c:6379 (give all hosts the same masters, or change one at a time)',
  );
  const shown = differenceIn(seen('123', '124', 1), 3, now);
  const told = shown && differenceLine(shown).replace(/\b\d:6379/g, 'redis://10.0.0.$&');
  expect(page.replace(/\s+/g, ' ')).toContain(`redlock-run: warning: ${told}`);
  // Theirs that were not reached have no names, and so it may be that no difference is known.
  const unnamed = differenceIn(seen('abc', 'abc??', 1), 3, now);
  expect(unnamed && differenceLine(unnamed)).toMatch(/: it has another number of masters \(/);
});

// Such a master may be a new one, and the other list from before it was added.
test('while one of ours has not told its mark, no other list counts', () => {
  const told = seen('abcd', 'abc', 1);
  expect(differenceIn(told, 5, now)).toBeNull();
  expect(differenceIn([...told, ...seen('e', 'abc', 1)], 5, now)).not.toBeNull();
  expect(differenceIn([...told, ...seen('e', 'abc', 1, 0)], 5, now)).toBeNull();
});

test('a list is read as it was written, and nonsense is left out', () => {
  const text = textOfList(list('abc?'));
  const used = { host: 'web1', writtenAt: now - 5, ...list('abc?') };
  expect(parseLists([['web1', 5, text]], now)).toEqual([used]);
  const bad = ['', '[', '{}', '[]', 'null', '[0,{}]', '[1,{"a":"1","b":"2"}]', '[3,null]'];
  const rows = [...bad.map((one) => ['web1', 5, one]), null, [1, 2, 3], ['web1', '5', text]];
  expect(parseLists(rows, now)).toEqual([]);
  for (const reply of [0, null, 'x', Array(101).fill(['web1', 5, text])])
    expect(parseLists(reply, now)).toBeNull();
});

test('a list that is too long is cut, and the rest of it is unknown', () => {
  const addresses = new Map(Array.from({ length: 99 }, (_, at) => [`id${at}`, 'x'.repeat(300)]));
  const text = textOfList({ configuredCount: 99, addresses });
  expect(text.length).toBeLessThanOrEqual(4_000);
  expect(parseLists([['web1', 0, text]], now)).toMatchObject([{ configuredCount: 99 }]);
});

test('our list is written once an hour, and when it is another or more of it is known', () => {
  const told: unknown[] = [];
  const connection = { isOpen: true, eval: async (call: unknown) => told.push(call) };
  const ours = new OwnList('web2', 3, 'p:');
  const meet = (name: string, id: string | null, reply: unknown = []) =>
    ours.tell(name, connection, { mark: { id, since: 0 }, repliedAt: now }, reply);
  const countAt = (at: number) => {
    told.length = 0;
    ours.write(at);
    return told.length;
  };
  expect(countAt(now)).toBe(0);
  meet('a', 'id-a');
  meet('b', 'id-b', [['web2', hourMs / 2, textOfList(list('abc'))]]);
  meet('c', null);
  expect([countAt(now), countAt(now)]).toEqual([2, 0]);
  meet('c', 'id-c');
  expect([countAt(now), countAt(now + hourMs - 1), countAt(now + hourMs)]).toEqual([3, 0, 3]);
  const text = '[3,{"id-a":"a","id-b":"b","id-c":"c"}]';
  expect(told[0]).toMatchObject({ keys: ['{p:}:mark'], args: ['web2', text] });
  connection.isOpen = false;
  expect(countAt(now + 9 * hourMs)).toBe(0);
});

test('our list that stands there is not written again within the hour, if it is the same', () => {
  let count = 0;
  const connection = { isOpen: true, eval: async () => (count += 1) };
  for (const [agoMs, before, written] of [
    [hourMs - 1, 'a?', 0],
    [hourMs, 'a?', 1],
    [0, 'a??', 1],
  ] as const) {
    const ours = new OwnList('web2', 2, 'p:');
    const reply = [['web2', agoMs, textOfList(list(before))]];
    ours.tell('a:6379', connection, { mark: { id: 'a', since: 0 }, repliedAt: now }, reply);
    count = 0;
    ours.write(now);
    expect(count).toBe(written);
  }
});
