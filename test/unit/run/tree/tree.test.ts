// Who belongs to a run, on machines that are made up: each way of getting away, and each way of being taken for one of us
// without being one.

import { expect, it } from 'vitest';
import type { ProcessEntry, ProcessTable } from '../../../../src/run/tree/census.ts';
import { type Root, Tree } from '../../../../src/run/tree/tree.ts';

const us = 100;
const root: Root = { pid: 200, startedAt: 20, isLeader: true, isEnclosure: false };

/** A process that has nothing to do with the run, with changes. */
function entry(pid: number, changes: Partial<ProcessEntry> = {}): ProcessEntry {
  return { pid, parent: 1, group: pid, session: pid, startedAt: 30, found: [], isBlank: false, ...changes };
}

const command = entry(200, { parent: us, startedAt: 20 });

class Machine implements ProcessTable {
  entries: ProcessEntry[] = [];
  isSettled = true;

  read(since: number) {
    return { entries: this.entries.filter(({ startedAt }) => startedAt >= since), isSettled: this.isSettled };
  }

  startedAt(pid: number): number | null {
    return pid === us ? 10 : null;
  }
}

function setUp(changes: Partial<Root> = {}) {
  const machine = new Machine();
  const tree = new Tree(machine, 'our-run', us);
  tree.setRoot({ ...root, ...changes });
  const pids = (...entries: ProcessEntry[]) => {
    machine.entries = entries;
    return [...tree.scan().pids].sort((a, b) => a - b);
  };
  return { machine, tree, pids };
}

it.each<[string, ProcessEntry[], number[]]>([
  ['the command', [command], [200]],
  [
    'a child, and a child of a child',
    [command, entry(201, { parent: 200 }), entry(202, { parent: 201 })],
    [200, 201, 202],
  ],
  ['an orphan in its group', [entry(203, { group: 200 })], [203]],
  ['an orphan in its session', [entry(204, { session: 200 })], [204]],
  ['a daemon with our marker', [entry(205, { found: ['our-run'] })], [205]],
  [
    'a child of a daemon that has wiped its own',
    [entry(205, { found: ['our-run'] }), entry(206, { parent: 205 })],
    [205, 206],
  ],
  ['nobody else', [entry(300), entry(301, { parent: us })], []],
  ['nobody who was there before us', [entry(302, { startedAt: 9, found: ['our-run'] })], []],
  ['not redlock-run itself', [entry(process.pid, { found: ['our-run'] })], []],
  ['not our guard', [entry(303, { parent: us, found: ['REDLOCK_GUARD='] })], []],
  ['not the guard of an inner run', [command, entry(304, { parent: 200, found: ['REDLOCK_GUARD='] })], [200]],
  ['who plays a guard under our marker', [entry(305, { found: ['REDLOCK_GUARD=', 'our-run'] })], [305]],
])('finds %s', (_title, entries, expected) => {
  expect(setUp().pids(...entries)).toEqual(expected);
});

it('knows again whom it has seen, whatever he has become', () => {
  const { pids } = setUp();
  pids(command, entry(201, { parent: 200 }));
  expect(pids(entry(201))).toEqual([201]);
});

it('does not take a later process for an earlier one of the same number', () => {
  const { pids } = setUp();
  pids(command, entry(201, { parent: 200 }));
  expect(pids(entry(201, { startedAt: 31 }))).toEqual([]);
});

it('leaves the group and the session of a later process with the number of the command alone', () => {
  const later = entry(200, { startedAt: 40 });
  expect(setUp().pids(later, entry(207, { group: 200, session: 200, startedAt: 41 }))).toEqual([]);
});

it('does not go by a group that the command only shares, as at a terminal', () => {
  const { pids } = setUp({ isLeader: false });
  expect(pids(entry(200, { parent: us, group: 90, startedAt: 20 }), entry(208, { group: 90 }))).toEqual([200]);
});

it('kills groups as a whole only where a member founded them', () => {
  const { machine, tree } = setUp({ isLeader: false });
  machine.entries = [
    entry(200, { group: 90, startedAt: 20 }),
    entry(209, { parent: 200, group: 209 }),
    entry(210, { parent: 209, group: 209 }),
  ];
  expect(tree.scan().groups).toEqual([209]);
});

it('tells the enclosure of an isolated command apart, and finds the command in it', () => {
  const { machine, tree } = setUp({ isEnclosure: true });
  machine.entries = [
    command,
    entry(201, { parent: 200, group: 200 }),
    entry(212, { parent: 201, startedAt: 32 }),
    entry(202, { parent: 201, group: 200 }),
    entry(203, { parent: 202, group: 200 }),
  ];
  expect(tree.scan()).toMatchObject({ enclosure: [200, 201], pids: [202, 203, 212] });
  expect(tree.insideEnclosure(true)).toEqual([202]);
  expect(tree.insideEnclosure(false)).toEqual([202, 203]);
});

it('passes on that it may have missed somebody', () => {
  const { machine, tree } = setUp();
  machine.isSettled = false;
  expect(tree.scan().isSettled).toBe(false);
});
