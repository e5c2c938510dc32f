// What the histories of several masters tell together: each run and each act once.

import { expect, it } from 'vitest';
import {
  pastActsOf,
  pastRunsOf,
  presentRunsOf,
  vanishedRunsOf,
} from '../../../src/ctl/history/run-history.ts';
import { breakLabel, type Holder, type LockState } from '../../../src/ctl/lock-state.ts';
import { renderAct, renderRun, vanished } from '../../../src/lock/history.ts';
import { noHistory, type SeenHistory } from '../../../src/redis/snapshot.ts';
import { holder as aHolder } from './past-run.ts';

const self = { host: 'web1', pid: 1, user: 'ops' };
const ended = { outcome: 'ran', waitMs: 0, heldMs: 0, exitCode: 0, status: 0 };
const run = (token: string, label = 'job') => renderRun({ token, ...self, label, ...ended });
const by = { user: 'ops', host: 'web1', pid: 2, note: null };
const act = (id: string) => renderAct({ kind: 'stop', id, by, token: 't' });

/** The history of one master, newest first: lines, each with when it was received. */
const kept = (...lines: (readonly [line: string, takenAtMs: number])[]) => ({
  ...noHistory,
  lines: lines.map(([line, takenAtMs]) => ({ line, takenAtMs })),
});
const at = (ms: number) => new Date(ms).toISOString();

it.each([
  ['on all masters', [kept([run('a'), 10]), kept([run('a'), 12]), kept([run('a'), 40])], 12, 3],
  ['on one master', [kept(), kept([run('a'), 10]), kept()], 10, 1],
  ['twice on a master', [kept([run('a'), 90], [run('a'), 10]), kept([run('a'), 20])], 10, 2],
  ['twice, in other words', [kept([run('a', 'b'), 90], [run('a'), 10])], 10, 1],
  ['among what is none', [kept(['{}', 30], ['x', 20], [act('a'), 15], [run('a'), 10])], 10, 1],
])('a run %s ended once', (_, histories, endMs, masters) => {
  expect(pastRunsOf('n', histories)).toMatchObject([
    { name: 'n', token: 'a', label: 'job', endedAt: at(endMs), masters },
  ]);
});

const holder: Holder = { ...aHolder, since: at(10) };

const lockOf = (sharing: LockState['sharing'], holders: readonly Holder[]) =>
  ({ name: 'n', state: 'held', sharing, holders, quorum: 2, fence: null }) as unknown as LockState;

it.each<[string, Partial<Holder>, string | undefined]>([
  ['runs', {}, 'running'],
  ['has ended, and its lock is kept', { endedAt: at(20) }, undefined],
  ['was broken, and others are kept out until it has ended', { label: breakLabel }, undefined],
])('a holder that %s', (_, facts, outcome) => {
  // Its history may not have been read, as that of a run that ended before --since.
  const [run] = presentRunsOf(lockOf('exclusive', [{ ...holder, ...facts }]), [], 30);
  expect([run?.outcome, run?.waitMs]).toEqual(outcome ? [outcome, null] : [undefined, undefined]);
});

it('of a lock with slots every present holder is a run, beside one that is kept', () => {
  const ended = { ...holder, token: 'a', endedAt: at(20) };
  const others = ['b', 'c'].map((token) => ({ ...holder, token }));
  const tokensOf = (lock: LockState) => presentRunsOf(lock, [], 30).map(({ token }) => token);
  expect(tokensOf(lockOf('slots', [ended, ...others]))).toEqual(['b', 'c']);
  // What a minority shows is none.
  const [b, c] = others as [Holder, Holder];
  expect(tokensOf(lockOf('exclusive', [b, { ...c, votes: 1 }]))).toEqual(['b']);
  expect(tokensOf(lockOf('slots', [b, { ...c, votes: 1 }]))).toEqual(['b']);
});

it('runs are in the order in which they began', () => {
  const histories = [kept([run('c'), 30], [run('b'), 10], [run('a'), 20]), kept([run('b'), 11])];
  expect(pastRunsOf('n', histories).map(({ token }) => token)).toEqual(['b', 'a', 'c']);
});

it('acts, each once, among runs', () => {
  const histories = [kept([act('y'), 90], [act('x'), 20], [run('a'), 5]), kept([act('x'), 10])];
  expect(pastActsOf('n', histories)).toMatchObject([
    { act: 'stop', at: at(10), masters: 2 },
    { act: 'stop', at: at(90), masters: 1 },
  ]);
});

const begun = (...starts: (readonly [token: string, takenAtMs: number])[]) => ({
  ...noHistory,
  starts: starts.map(([token, takenAtMs]) => {
    const begun = { label: 'job', outcome: vanished, waitMs: 5, status: 0 };
    const line = renderRun({ token, ...self, ...begun });
    return { token, takenAtMs, line };
  }),
});

it.each<[string, SeenHistory[], string[], string[]]>([
  ['on a quorum', [begun(['a', 10]), begun(['a', 12]), noHistory], [], ['a']],
  ['on a minority', [begun(['a', 10]), noHistory, noHistory], [], []],
  [
    'on a quorum, with an end on the rest',
    [begun(['a', 1]), begun(['a', 1]), kept([run('a'), 9])],
    [],
    [],
  ],
  ['and is held still', [begun(['a', 10]), begun(['a', 12]), begun(['a', 12])], ['b', 'a'], []],
  ['beside another one', [begun(['a', 1], ['b', 2]), begun(['a', 1], ['b', 2])], ['b'], ['a']],
])('a run that began %s', (_, histories, held, expected) => {
  const runs = vanishedRunsOf('n', histories, new Set(held));
  expect(runs.map(({ token }) => token)).toEqual(expected);
});

it('of a run that vanished the beginning is known, and nothing of its end', () => {
  const histories = [begun(['a', 10]), begun(['a', 12]), begun(['a', 40])];
  const [gone] = vanishedRunsOf('n', histories, new Set());
  const times = { beganAt: at(7), acquiredAt: at(12), endedAt: null, waitMs: 5, heldMs: null };
  const end = { outcome: 'vanished', exitCode: null, status: null };
  expect(gone).toMatchObject({ name: 'n', host: 'web1', pid: 1, ...times, ...end, masters: 3 });
});

it('what names another token in its line is no beginning', () => {
  const [one] = begun(['a', 10]).starts;
  const other = { ...noHistory, starts: one ? [{ ...one, token: 'b' }] : [] };
  expect(vanishedRunsOf('n', [other, other, other], new Set())).toEqual([]);
});
