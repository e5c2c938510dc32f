// The proof that nobody is left: which numbers it looks at, when it trusts them, and that it is not fooled by somebody who forks
// between two looks; on machines that are made up, and once on this one.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Numbers, ProcessEntry, ProcessTable } from '../../../../src/run/tree/census.ts';
import { type CounterSource, type Counters, findCounters } from '../../../../src/run/tree/counters.ts';
import { Newcomers, numbersSince } from '../../../../src/run/tree/newcomers.ts';
import { processTable } from '../../../../src/run/tree/process-table.ts';
import { Tree } from '../../../../src/run/tree/tree.ts';

const before: Counters = { newest: 990, startedCount: 50_000, limit: 32_768 };
const root = 1_000;
const after = (changes: Partial<Counters>): Counters => ({
  newest: 1_009,
  startedCount: 50_019,
  limit: 32_768,
  ...changes,
});

it.each<[string, Counters, Counters, Numbers | null]>([
  ['the command and all that came after it', before, after({}), { first: 1_000, last: 1_009 }],
  ['the command alone', before, after({ newest: 1_000, startedCount: 50_001 }), { first: 1_000, last: 1_000 }],
  ['as many as are worth it', before, after({ newest: 1_255, startedCount: 50_300 }), { first: 1_000, last: 1_255 }],
  ['none: too many', before, after({ newest: 1_256, startedCount: 50_300 }), null],
  ['none: numbers have begun anew', before, after({ newest: 400 }), null],
  ['none: they may have, and risen past the command again', before, after({ startedCount: 50_000 + 16_384 }), null],
  ['none: they began anew just before the command', { ...before, newest: 32_760 }, after({}), null],
  ['none: many were given out and not used', before, after({ newest: 1_200, startedCount: 50_019 }), null],
  ['none: nothing is said to have been started', before, after({ startedCount: 50_000 }), null],
  ['none: all are zero, as in a sandbox', { newest: 0, startedCount: 0, limit: 0 }, after({ newest: 0 }), null],
  ['none: a newest that never changes', { ...before, newest: 1_005 }, after({ newest: 1_005 }), null],
  ['none: the newest is not told', before, after({ newest: Number.NaN }), null],
  ['none: the count is not told', before, after({ startedCount: Number.NaN }), null],
  ['none: the limit is not told', before, after({ limit: Number.NaN }), null],
])('%s', (_title, then, now, expected) => {
  expect(numbersSince(then, root, now)).toEqual(expected);
});

/** A machine whose processes come and go while it is looked at. */
class Machine {
  counters: Counters = after({});
  readonly alive = new Map<number, Partial<ProcessEntry>>();
  /** What happens when this number is looked at; once. */
  readonly events = new Map<number, () => void>();
  readonly looks: string[] = [];

  readonly source: CounterSource = { read: () => this.counters, newest: () => this.counters.newest };
  readonly table: ProcessTable = {
    read: (_since, _texts, numbers) => this.#look(numbers as Numbers),
    startedAt: () => 0,
  };

  /** Somebody who gets the next number. */
  start(changes: Partial<ProcessEntry>): void {
    const { newest, startedCount, limit } = this.counters;
    this.counters = { newest: newest + 1, startedCount: startedCount + 1, limit };
    this.alive.set(newest + 1, changes);
  }

  #look({ first, last }: Numbers) {
    this.looks.push(`${first}-${last}`);
    const entries: ProcessEntry[] = [];
    for (let pid = first; pid <= last; pid += 1) {
      this.events.get(pid)?.();
      this.events.delete(pid);
      const changes = this.alive.get(pid);
      if (changes === undefined) continue;
      entries.push({ pid, parent: 1, group: pid, session: pid, startedAt: 9, found: [], isBlank: false, ...changes });
    }
    return { entries, isSettled: !entries.some(({ isBlank }) => isBlank) };
  }
}

function setUp() {
  const machine = new Machine();
  const tree = new Tree(machine.table, 'our-run', 1);
  const newcomers = new Newcomers(machine.source, tree);
  machine.counters = before;
  newcomers.begin();
  machine.counters = after({});
  tree.setRoot({ pid: root, startedAt: 8, isLeader: true, isEnclosure: false });
  newcomers.setRoot(root);
  return { machine, newcomers };
}

const ours = { found: ['our-run'] };

it('nobody is left when nobody has come, by one look', () => {
  const { machine, newcomers } = setUp();
  expect(newcomers.areGone()).toBe(true);
  expect(machine.looks).toEqual(['1000-1009']);
});

it.each<[string, number, Partial<ProcessEntry>, boolean]>([
  ['the command itself', root, { startedAt: 8 }, false],
  ['a daemon with our marker', 1_004, ours, false],
  ['an orphan in the group of the command', 1_005, { group: root }, false],
  ['somebody who shows no environment: he may be becoming another program', 1_006, { isBlank: true }, false],
  ['somebody else’s', 1_007, {}, true],
  ['the guard of an inner run, which ends by itself', 1_008, { found: ['REDLOCK_GUARD='] }, true],
])('%s is there', (_title, pid, changes, expected) => {
  const { machine, newcomers } = setUp();
  machine.alive.set(pid, changes);
  expect(newcomers.areGone()).toBe(expected);
});

it('finds who was started while it looked, by somebody who was gone before it came to him', () => {
  const { machine, newcomers } = setUp();
  machine.alive.set(1_003, ours);
  machine.events.set(1_003, () => {
    machine.alive.delete(1_003);
    machine.start(ours);
  });
  expect(newcomers.areGone()).toBe(false);
  expect(machine.looks).toEqual(['1000-1009', '1010-1010']);
});

it('follows somebody who forks and ends all the time, for a while', () => {
  const { machine, newcomers } = setUp();
  const hop = () => {
    machine.alive.clear();
    machine.start(ours);
    machine.events.set(machine.counters.newest, hop);
  };
  machine.events.set(1_009, hop);
  expect(newcomers.areGone()).toBe(false);
  expect(machine.looks).toHaveLength(20);
});

it('looks only at those who have come since, while others start processes all the time', () => {
  const { machine, newcomers } = setUp();
  machine.events.set(1_009, () => machine.start({}));
  machine.events.set(1_010, () => machine.start({}));
  expect(newcomers.areGone()).toBe(true);
  expect(machine.looks).toEqual(['1000-1009', '1010-1010', '1011-1011']);
});

it.each<[string, (newcomers: Newcomers, machine: Machine) => unknown]>([
  ['it has no counters', () => new Newcomers(null, {} as Tree).areGone()],
  ['it has not begun', (_, machine) => new Newcomers(machine.source, {} as Tree).areGone()],
  ['no command has been started', (_, machine) => begun(new Newcomers(machine.source, {} as Tree)).areGone()],
  ['the counters cannot be read', (newcomers, machine) => broken(machine) && newcomers.areGone()],
])('proves nothing when %s', (_title, ask) => {
  const { machine, newcomers } = setUp();
  expect(ask(newcomers, machine)).toBe(false);
});

function begun(newcomers: Newcomers): Newcomers {
  newcomers.begin();
  return newcomers;
}

function broken(machine: Machine): boolean {
  Object.defineProperty(machine, 'counters', {
    get: () => {
      throw new Error('EMFILE');
    },
  });
  return true;
}

describe('a command whose process was there before', () => {
  const parked = 701;

  /** Told of its start or not; then others came and went, until `begunAt`; and then until `now`. */
  function setUpParked(begunAt: Counters, now: Counters, isTold = true) {
    const machine = new Machine();
    const tree = new Tree(machine.table, 'our-run', 1);
    const newcomers = new Newcomers(machine.source, tree);
    machine.counters = { ...before, newest: parked - 1, startedCount: 49_000 };
    newcomers.begin();
    if (isTold) machine.counters = { ...before, newest: parked, startedCount: 49_001 };
    newcomers.awaitRoot(parked);
    machine.counters = begunAt;
    newcomers.begin();
    machine.counters = now;
    tree.setRoot({ pid: parked, startedAt: 8, isLeader: true, isEnclosure: false });
    newcomers.setRoot(parked);
    return { machine, newcomers };
  }

  it.each<[string, Counters, Counters, string[]]>([
    ['nobody has come since', before, before, ['701-701', '991-990']],
    ['nobody has in our namespace', before, { ...before, startedCount: 50_300 }, ['701-701', '991-990']],
    ['some have come since', before, after({}), ['701-701', '991-1009']],
    ['numbers had begun anew by then', { ...before, newest: 40 }, after({ newest: 50 }), ['701-701', '41-50']],
  ])('is gone with all of its own: %s', (_title, begunAt, now, looks) => {
    const { machine, newcomers } = setUpParked(begunAt, now);
    expect(newcomers.areGone()).toBe(true);
    expect(machine.looks).toEqual(looks);
  });

  it.each<[string, number, Partial<ProcessEntry>]>([
    ['itself', parked, { startedAt: 8 }],
    ['a daemon with our marker', 991, ours],
    ['an orphan in its group', 1_009, { group: parked }],
  ])('is not gone: %s', (_title, pid, changes) => {
    const { machine, newcomers } = setUpParked(before, after({}));
    machine.alive.set(pid, changes);
    expect(newcomers.areGone()).toBe(false);
  });

  it('is not known to be gone when numbers have begun anew since, or the counters had not told of its start', () => {
    expect(setUpParked(before, after({ newest: 400 })).newcomers.areGone()).toBe(false);
    expect(setUpParked(before, after({}), false).newcomers.areGone()).toBe(false);
    expect(setUpParked(before, before, false).newcomers.areGone()).toBe(false);
    // All of them once around, to the very same number.
    expect(setUpParked(before, { ...before, startedCount: 50_000 + 32_768 }).newcomers.areGone()).toBe(false);
    expect(setUpParked(before, { ...before, startedCount: 49_999 }).newcomers.areGone()).toBe(false);
  });

  it('does not count when another was started instead', () => {
    const { machine, newcomers } = setUpParked(before, after({}));
    newcomers.setRoot(root);
    expect(newcomers.areGone()).toBe(true);
    expect(machine.looks).toEqual(['1000-1009']);
  });
});

const counters = findCounters();

it.skipIf(counters === null)(
  'on this machine, sees a daemon of a shell that has ended, and then that it has gone',
  async () => {
    const source = counters as CounterSource;
    const then = source.read();
    const tree = new Tree(processTable, 'unit-newcomers', process.pid);
    const newcomers = new Newcomers(counters, tree);
    newcomers.begin();
    const env = { ...process.env, REDLOCK_RUN_IDS: 'unit-newcomers' };
    const shell = spawn('sh', ['-c', 'sleep 600 >/dev/null & echo $!'], { env, detached: true });
    const pid = shell.pid as number;
    const [[text]] = await Promise.all([once(shell.stdout, 'data'), once(shell, 'exit')]);
    const daemon = Number(text);
    tree.setRoot({ pid, startedAt: null, isLeader: true, isEnclosure: false });
    newcomers.setRoot(pid);
    expect(newcomers.areGone()).toBe(false);
    process.kill(daemon, 'SIGKILL');
    // Where others start hundreds meanwhile it proves nothing, and that is no fault.
    const isKnowable = () => numbersSince(then, pid, source.read()) !== null;
    await expect.poll(() => newcomers.areGone() || !isKnowable(), { timeout: 4_000 }).toBe(true);
  },
);
