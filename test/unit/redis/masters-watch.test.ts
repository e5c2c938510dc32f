// Which sets of masters are a danger to one another: by counting all quorums of small sets, and by
// the steps and accidents of operation. And when a program warns, and records its own set.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { LockEvent } from '../../../src/lock/ports.ts';
import { quorumOf } from '../../../src/lock/quorum.ts';
import { type Mark, parseIdentity, type UsedSet } from '../../../src/redis/identity.ts';
import {
  dangerousSets,
  differenceFrom,
  differenceLine,
  type MarkedMasters,
  MastersWatch,
  type Reaction,
} from '../../../src/redis/masters-watch.ts';

const now = 1_000_000_000;
const hourMs = 3_600_000;

const setOf = (ids: string, agoMs = 1, host = 'web1'): UsedSet => ({
  ids: [...ids],
  host,
  usedAt: now - agoMs,
});

/** Our masters `a:6379` and so on, on each of which these sets are recorded. */
const mastersOf = (ids: string, sets: readonly UsedSet[], markedMs = 1_000 * hourMs) =>
  [...ids].map((id) => ({ name: `${id}:6379`, mark: { id, since: now - markedMs, sets } }));

const isDanger = (ours: string, theirs: string) =>
  dangerousSets(mastersOf(ours, [setOf(theirs)]), now).length > 0;

/** All subsets of a quorum's size. */
function quorums(ids: string): string[][] {
  const all = Array.from({ length: 2 ** ids.length }, (_, bits) =>
    [...ids].filter((_, at) => bits & (2 ** at)),
  );
  return all.filter(({ length }) => length === quorumOf(ids.length));
}

describe('dangerousSets', () => {
  const sets = ['a', 'b', 'ab', 'bc', 'abc', 'ade', 'abd', 'cde', 'def', 'abcd', 'cdef', 'abcde'];
  const pairs = sets.flatMap((ours) => sets.map((theirs) => [ours, theirs] as const));

  test.each(pairs)('%s and %s: as counting all quorums says', (ours, theirs) => {
    const areDisjoint = quorums(ours).some((one) =>
      quorums(theirs).some((other) => !one.some((id) => other.includes(id))),
    );
    expect(isDanger(ours, theirs)).toBe(areDisjoint);
  });

  test.each([
    ['abc', 'abc', false, 'the same'],
    ['abc', 'ade', true, 'three and three with one in common'],
    ['abc', 'abd', true, 'one replaced by another in one step'],
    ['abc', 'abcde', true, 'three and five'],
    ['abc', 'abcd', false, 'three and four'],
    ['abcd', 'abd', false, 'four and three'],
    ['a', 'abc', true, 'one and three'],
  ])('%s and %s: %s (%s)', (ours, theirs, expected) => {
    expect(isDanger(ours, theirs)).toBe(expected);
  });
});

test.each([
  ['an hour ago', mastersOf('abc', [setOf('ade', hourMs)]), 1],
  ['two days ago', mastersOf('abc', [setOf('ade', 48 * hourMs)]), 0],
  [
    'before one of our masters was emptied or added',
    [...mastersOf('ab', [setOf('ade', hourMs)]), ...mastersOf('c', [], hourMs / 2)],
    0,
  ],
])('another set that was used %s', (_when, masters, count) => {
  expect(dangerousSets(masters, now).length).toBe(count * (masters.length || 1));
});

const lineOf = (masters: MarkedMasters) => {
  const [set] = dangerousSets(masters, now);
  return set && differenceLine(differenceFrom(set, masters));
};

test('the difference names the host and the masters, as on the page', () => {
  expect(lineOf(mastersOf('abc', [setOf('ade', 9, 'web2'), setOf('ade', 8)]))).toBe(
    "this host's masters could grant a lock beside web1's: it has 2 other masters " +
      'and does not have b:6379, c:6379 (give all hosts the same masters, or change one at a time)',
  );
  expect(lineOf(mastersOf('abc', [setOf('abcde')]))).toContain(': it has 2 other masters (');
  expect(lineOf(mastersOf('abcdefg', [setOf('ab')]))).toContain(
    ': it does not have c:6379, d:6379, e:6379 and 2 more (',
  );
  expect(lineOf(mastersOf('abc', [setOf('d', 1, '\u001b[31mweb')]))).not.toContain('\u001b');
  const page = readFileSync(new URL('../../../docs/masters.md', import.meta.url), 'utf8');
  const shown = lineOf(mastersOf('123', [setOf('124')]));
  const onPage = shown?.replace(/\b\d:6379/g, 'redis://10.0.0.$&');
  expect(page.replace(/\s+/g, ' ')).toContain(`redlock-run: warning: ${onPage}`);
});

test('a reply becomes a mark with its sets, and nonsense is left out', () => {
  const setsIn = (sets: unknown) =>
    parseIdentity(null, null, now, ['id', 5, sets]).mark?.sets ?? null;
  expect(setsIn([['b,a,b', 5, 'web1']])).toEqual([setOf('ab', 5)]);
  for (const bad of [null, 'x', [null, [1, 2, 3], ['a', '5', 'web1'], ['a', 5]]])
    expect(setsIn(bad)).toEqual([]);
});

/** A program on web2 with these masters, of which some have not reported a mark. */
function watchOn(masters: MarkedMasters, reaction: Reaction = 'warn', unmarked: string[] = []) {
  const recorded: string[] = [];
  const events: LockEvent[] = [];
  const clock = { at: now };
  const identities = new Map<string, { mark: Mark } | null>(
    masters.map(({ name, mark }) => [name, { mark }]),
  );
  for (const name of unmarked) identities.set(name, null);
  const servers = [...identities.keys()].map((name) => ({
    name,
    identify: async () => null,
    rejection: null,
    get identity() {
      return identities.get(name) ?? null;
    },
    recordSet: async (host: string, ids: readonly string[]) =>
      recorded.push(`${name} ${host} ${ids.join('')}`),
  }));
  const reads = { now: () => clock.at, sleep: async () => {} };
  const watch = new MastersWatch(servers, reads, 'web2', reaction, true);
  const see = (kind: string) => watch.see({ kind }, (event) => events.push(event));
  return { watch, recorded, events, clock, identities, see };
}

test('it warns once, of the set that was used last', () => {
  const { see, events } = watchOn(mastersOf('abc', [setOf('ade'), setOf('afg', 9, 'web3')]));
  for (const kind of ['waiting', 'acquired', 'extended']) see(kind);
  const missing = ['b:6379', 'c:6379'];
  expect(events).toEqual([{ kind: 'masters-differ', host: 'web1', otherCount: 2, missing }]);
});

test('nothing is compared or recorded while a master has no known mark, or on ignore', () => {
  const differing = mastersOf('abc', [setOf('ade')]);
  const late = watchOn(differing.slice(0, 2), 'warn', ['c:6379']);
  late.see('acquired');
  expect([late.events, late.recorded]).toEqual([[], []]);
  for (const { name, mark } of differing) late.identities.set(name, { mark });
  late.see('extended');
  expect([late.events.length, late.recorded.length]).toEqual([1, 3]);
  const silent = watchOn(differing, 'ignore');
  silent.see('acquired');
  expect([silent.events, silent.recorded]).toEqual([[], []]);
});

test('with error, the masters that report the set last used are rejected', () => {
  const differing = watchOn(mastersOf('abc', [setOf('ade')]), 'error').watch.servers;
  expect(differing.map(({ rejection }) => rejection?.cause ?? null)).toEqual([
    ...['misconfigured', null, null],
  ]);
  const same = watchOn(mastersOf('abc', [setOf('abc')]), 'error').watch.servers;
  expect(same.map(({ rejection }) => rejection)).toEqual([null, null, null]);
});

test('our set is recorded once an hour, and when it has changed', () => {
  const { see, recorded, clock, identities } = watchOn(mastersOf('ba', []));
  const countAfter = (ms: number) => {
    clock.at += ms;
    recorded.length = 0;
    see('extended');
    return recorded.length;
  };
  see('acquired');
  expect(recorded).toEqual(['b:6379 web2 ab', 'a:6379 web2 ab']);
  expect([countAfter(0), countAfter(hourMs - 1), countAfter(1)]).toEqual([0, 0, 2]);
  identities.set('a:6379', { mark: { id: 'new', since: now, sets: [] } });
  expect([countAfter(1), recorded[0]]).toEqual([2, 'b:6379 web2 bnew']);
});

test.each([
  ['by any host within the hour', [setOf('ab', hourMs - 1)], 0],
  ['an hour ago', [setOf('ab', hourMs)], 2],
  ['and this host had another one', [setOf('ab'), setOf('a', 1, 'web2')], 2],
  ['and another host another one', [setOf('ab'), setOf('a', 1)], 0],
])('a set that was recorded before, %s', (_when, sets, count) => {
  const { see, recorded } = watchOn(mastersOf('ab', sets));
  see('acquired');
  expect(recorded).toHaveLength(count);
});
