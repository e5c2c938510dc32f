// The lines of top: never more than the screen has, the important ones first.

import { describe, expect, it } from 'vitest';
import { type LockState, lockStateOf } from '../../../src/ctl/lock-state.ts';
import { readTop, renderTop } from '../../../src/ctl/top.ts';

function lock(name: string, values: (string | null)[], waiterCount = 0): LockState {
  const queue = Array.from({ length: waiterCount }, (_, at) => ({
    id: `w${at}`,
    waitedMs: 65_000,
  }));
  return lockStateOf(
    name,
    values.map((value, at) => {
      const type = value === null ? null : 'string';
      const remainingMs = value === null ? null : 20_000;
      const none = { fence: null, holders: [], freeze: null, endings: [] };
      const snapshot = { type, value, remainingMs, queue, ...none };
      return { master: `m${at}`, snapshot, restartFailure: null };
    }),
  );
}

const value =
  't {"host":"web1","pid":4711,"user":"ops",' +
  '"since":"1969-12-31T23:57:00.000Z","label":"deploy.sh"}';
const held = (name: string, waiterCount = 0) => lock(name, [value, value, value], waiterCount);
const masters = ['a', 'b', 'c'].map((name) => ({
  name: `redis://${name}:6379`,
  answer: '0.4 ms',
  isFailed: false,
}));
const many = Array.from({ length: 100 }, (_, at) => held(`the-deploy-of-everything-in-${at}-日本`));

function view(locks: LockState[], columns = 80, rows = 24, offset = 0) {
  const { lines, lockCount } = renderTop({ masters, locks }, offset, { columns, rows });
  return { texts: lines.map(({ text }) => text), lines, lockCount };
}

it.each([
  [200, 60, 52],
  [80, 24, 8],
  [80, 10, 1],
  [40, 10, 1],
])('a screen of %i columns and %i rows shows %i locks', (columns, rows, count) => {
  const { texts, lockCount } = view(many, columns, rows);
  expect(lockCount).toBe(count);
  expect(texts.length).toBeLessThanOrEqual(rows);
  expect(Math.max(...texts.map(({ length }) => length))).toBeLessThanOrEqual(columns);
  expect(texts.at(-1)).toMatch(new RegExp(`^q quits  1 to ${count} of 100`));
});

it('shows which locks are on the screen, and how to see the others', () => {
  const how = 'arrows and page keys move (all: redlockctl list)';
  expect(view(many, 200, 24, 16).texts.at(-1)).toBe(`q quits  17 to 32 of 100: ${how}`);
  expect(view([held('a')]).texts.at(-1)).toBe('q quits');
  const named = (offset: number) =>
    view(many, 200, 24, offset).texts.filter((text) => text.startsWith('the-dep'));
  expect(named(16)).toHaveLength(16);
  expect(named(16).filter((text) => named(0).includes(text))).toEqual([]);
});

it('on a narrow screen a row goes on below its lock', () => {
  expect(view([held('a'), lock('b', [null, null, null], 1)], 40).texts).toEqual([
    expect.stringMatching(/^2 locks, 1 waiting {2}\d\d:\d\d:\d\d$/),
    ...masters.map(({ name, answer }) => `${name}  ${answer}`),
    '',
    'NAME  STATE  VOTES  LEFT  WAITING  HOLDE',
    'a     held   3/3    20s',
    '    ops@web1 4711 deploy.sh',
    'b     free   0/3          1',
    '',
    'q quits',
  ]);
});

describe('without a lock', () => {
  it.each([
    [0, 'no locks'],
    [1, 'no locks'],
    [2, 'no quorum: too few masters answer'],
    [3, 'no quorum: too few masters answer'],
  ])('with %i failing masters of three: %s', (count, text) => {
    const answers = masters.map((one, at) => ({ ...one, isFailed: at < count }));
    const size = { columns: 80, rows: 24 };
    const { lines } = renderTop({ masters: answers, locks: [] }, 0, size);
    expect(lines.find(({ tone }) => tone === 'head')?.text).toBe(text);
    expect(lines.filter(({ tone }) => tone === 'bad')).toHaveLength(count);
  });
});

it.each([
  [held('a'), 'held'],
  [lock('a', ['x', null, null]), 'doubtful'],
  [lock('a', ['x', 'y', 'z']), 'bad'],
  [lock('a', [null, null, null], 1), 'good'],
])('each state has a tone', (state, tone) => {
  expect(view([state]).lines.find(({ text }) => text.startsWith('a '))?.tone).toBe(tone);
});

it('most waiters first, then locks not simply held, then by name', async () => {
  const orphan = lock('orphan', ['x', null, null]);
  const locks = [held('c'), held('b'), orphan, held('z', 2), held('y', 5)];
  const query = {
    servers: [],
    reset() {},
    ask: async () => [],
    names: async () => [],
    look: async () => locks,
    failures: () => [],
  };
  const read = await readTop(query as unknown as Parameters<typeof readTop>[0], '*');
  expect(read.locks.map(({ name }) => name)).toEqual(['y', 'z', 'orphan', 'b', 'c']);
});
