// The lines of top: never wider or more than the screen, the important ones first.

import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { type LockState, lockStateOf } from '../../../src/ctl/lock-state.ts';
import { cut, inOrder, movedBy, renderDashboard } from '../../../src/ctl/top/dashboard.ts';
import { renderFreeze } from '../../../src/lock/freeze.ts';

const snapshot = (value: string | null, waiters = 0) => ({
  type: value === null ? null : 'string',
  value,
  remainingMs: value === null ? null : 20_000,
  fence: null,
  holders: [],
  freeze: null,
  endings: [],
  queue: Array.from({ length: waiters }, (_, index) => ({ id: `w${index}`, waitedMs: 65_000 })),
});

function lock(name: string, values: (string | null)[], waiters = 0): LockState {
  return lockStateOf(
    name,
    values.map((value, at) => ({
      master: `m${at}`,
      snapshot: snapshot(value, waiters),
      restartFailure: null,
    })),
  );
}

const held = (name: string, waiters = 0) => lock(name, ['x', 'x', 'x'], waiters);
const masters = ['a', 'b', 'c'].map((name) => ({
  name: `redis://${name}:6379`,
  answer: { tripMs: 0.42 },
}));
const dashboard = (locks: LockState[], knownCount = locks.length, offset = 0) => ({
  now: new Date(0),
  masters,
  quorum: 2,
  locks,
  knownCount,
  offset,
});
const texts = (locks: LockState[], columns = 80, rows = 24) =>
  renderDashboard(dashboard(locks), columns, rows).map(({ text }) => text);

describe('a screen', () => {
  const many = Array.from({ length: 100 }, (_, index) =>
    held(`the-deploy-of-everything-in-region-${index}-日本語`),
  );

  it.each([
    [80, 24],
    [80, 10],
    [40, 12],
    [200, 60],
  ])('of %i columns and %i rows holds all lines', (columns, rows) => {
    const lines = texts(many, columns, rows);
    expect(lines.length).toBeLessThanOrEqual(rows);
    expect(Math.max(...lines.map((line) => stringWidth(line)))).toBeLessThanOrEqual(columns);
    expect(lines.at(-1)).toMatch(/^q quits/);
  });

  it.each([
    [0, 'no locks'],
    [1, 'no locks'],
    [2, 'no quorum: too few masters answer'],
    [3, 'no quorum: too few masters answer'],
  ])('with %i silent masters of three, and no lock: %s', (count, says) => {
    const silent = { answer: { message: 'connection refused' } };
    const answers = masters.map((one, at) => (at < count ? { ...one, ...silent } : one));
    const lines = renderDashboard({ ...dashboard([]), masters: answers }, 80, 24);
    expect(lines.map(({ text }) => text)).toContain(says);
  });

  it('says which are shown, and how to see the others', () => {
    const textsAt = (offset: number) =>
      renderDashboard(dashboard(many, 10_000, offset), 300, 24).map(({ text }) => text);
    const how = 'arrows and page keys move (all: redlockctl list)';
    expect(textsAt(0).at(-1)).toBe(`q quits  1 to 16 of 10000: ${how}`);
    expect(textsAt(16).at(-1)).toBe(`q quits  17 to 32 of 10000: ${how}`);
    const named = (offset: number) => textsAt(offset).filter((text) => text.startsWith('the-dep'));
    expect(named(16)).toHaveLength(16);
    expect(named(16).filter((text) => named(0).includes(text))).toEqual([]);
  });

  it.each([
    ['\x1b[A', -1],
    ['\x1b[B', 1],
    ['\x1b[5~', -16],
    ['\x1b[6~', 16],
    ['\x1b[H', Number.NEGATIVE_INFINITY],
    ['\x1b[F', Number.POSITIVE_INFINITY],
    ['x', null],
  ])('the key %j moves it by %j', (key, by) => {
    expect(movedBy(key, 16)).toBe(by);
  });
});

it('most waiters first, then locks not simply held, then by name', () => {
  const locks = [
    held('c'),
    held('b'),
    lock('orphan', ['x', null, null]),
    held('z', 2),
    held('y', 5),
  ];
  expect(inOrder(locks).map(({ name }) => name)).toEqual(['y', 'z', 'orphan', 'b', 'c']);
});

it.each([
  [held('a'), 'held'],
  [lock('a', ['x', null, null]), 'doubtful'],
  [lock('a', ['x', 'y', 'z']), 'bad'],
  [lock('a', [null, null, null], 1), 'good'],
])('each state has a tone', (state, tone) => {
  expect(
    renderDashboard(dashboard([state]), 80, 24).find(({ text }) => text.startsWith('a '))?.tone,
  ).toBe(tone);
});

it('a holder, its votes, its time, and how long the first waits', () => {
  expect(texts([held('deploy', 2)])).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^deploy +held +3\/3 +20s +2, 1m5s +another program: x$/),
    ]),
  );
});

it('on a narrow screen the holder stands below its lock', () => {
  const value =
    't {"host":"web1","pid":4711,"user":"ops",' +
    '"since":"1969-12-31T23:57:00.000Z","label":"deploy.sh"}';
  const locks = [lock('a', [value, value, value]), lock('b', [null, null, null], 1)];
  expect(texts(locks, 40)).toEqual([
    expect.stringMatching(/^2 locks, 1 waiting {2}\d\d:\d\d:\d\d$/),
    ...masters.map(({ name }) => expect.stringContaining(name)),
    '',
    'NAME  STATE  VOTES  LEFT  WAIT',
    'b     free   0/3          1, 1m5s',
    'a     held   3/3    20s',
    '    3m: deploy.sh ops@web1 4711',
    '',
    'q quits',
  ]);
  const many = texts(
    Array.from({ length: 100 }, (_, at) => lock(`n${at}`, [value, value, value])),
    40,
  );
  expect(many).toHaveLength(24);
  expect(many.filter((line) => line.startsWith('n'))).toHaveLength(8);
  expect(many.at(-1)).toMatch(/^q quits {2}1 to 8 of 100: /);
});

it('a holder whose run has ended', () => {
  const value =
    't {"host":"web1","pid":4711,"user":"ops",' +
    '"since":"2026-11-21T02:00:00.314Z","label":"deploy.sh"}';
  const state = lock('a', [value, value, value]);
  const ended = {
    ...state,
    holders: state.holders.map((holder) => ({ ...holder, endedAt: holder.since })),
  };
  expect(texts([state])).toEqual(
    expect.arrayContaining([expect.stringMatching(/ {2}deploy\.sh ops@web1 4711$/)]),
  );
  expect(texts([ended])).toEqual(
    expect.arrayContaining([expect.stringMatching(/ {2}ended: deploy\.sh ops@web1 4711$/)]),
  );
});

it.each([
  ['abc', 3, 'abc'],
  ['abcd', 3, 'ab…'],
  ['日本語', 5, '日本…'],
  ['日本語', 4, '日…'],
])('cut %s to %i', (text, columns, expected) => {
  expect(cut(text, columns)).toBe(expected);
});

it('a person that has frozen a lock, with the note, beside the holder or alone', () => {
  const freeze = { token: 't', user: 'ops', host: 'web1', pid: 1, since: 'S', note: 'no deploys' };
  const value = renderFreeze(freeze);
  const frozen = (name: string, key: string | null) =>
    lockStateOf(
      name,
      [0, 1, 2].map((at) => ({
        master: `m${at}`,
        snapshot: { ...snapshot(key), freeze: { value, remainingMs: null } },
        restartFailure: null,
      })),
    );
  const lines = texts([frozen('a', null), frozen('b', 'x')], 200);
  const shown = /frozen by ops@web1 since S: "no deploys"; until it is thawed$/;
  const alone = /^a +frozen +3\/3 +for ever +ops@web1: "no deploys"$/;
  expect(lines.find((line) => line.startsWith('a '))).toMatch(alone);
  expect(lines.find((line) => line.startsWith('b '))).toMatch(/^b +held +3\/3 +20s /);
  expect(lines.find((line) => line.startsWith('b '))).toMatch(shown);
});
