// The supervisor over every order of events, to a depth at which every phase has been entered and
// left in every way.

import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { describe, expect, it, onTestFinished } from 'vitest';
import { exitStatusOf } from '../../../src/run/outcome.ts';
import type { ChildExit } from '../../../src/run/record.ts';
import { signalTable } from '../../../src/run/signals.ts';
import {
  type Action,
  type Event,
  endingOf,
  initialState,
  isKept,
  type State,
  transition,
} from '../../../src/run/supervisor.ts';

const by = { user: 'ops', host: 'web1', pid: 1, note: null };

type SignalEvent = Extract<Event, { kind: 'signal' }>;

/** Sent to redlock-run alone, for the first time. */
const sent = (signal: NodeJS.Signals, from: Partial<SignalEvent> = {}): SignalEvent => {
  return { kind: 'signal', signal, isFromTerminal: false, isRepeated: false, ...from };
};

const events: readonly Event[] = [
  { kind: 'acquired' },
  { kind: 'not-acquired', refusal: { kind: 'busy', holder: 'x', holderCount: 1, freeInMs: 1 } },
  { kind: 'child-exited', exit: { kind: 'exited', code: 0 } },
  sent('SIGTERM'),
  sent('SIGINT', { isFromTerminal: true }),
  sent('SIGHUP'),
  { kind: 'lost', reason: 'taken' },
  { kind: 'lost', reason: 'unreachable' },
  { kind: 'max-run' },
  { kind: 'stop-asked', by },
  { kind: 'kill-due' },
  { kind: 'swept', unkillable: [] },
  { kind: 'released' },
];

interface History {
  readonly state: State;
  readonly events: readonly Event[];
  readonly actions: readonly Action[];
}

/** Whether the event is possible: one acquisition or refusal; one exit of a started child. */
function isPossible({ events: past, actions }: History, event: Event): boolean {
  const has = (kind: Event['kind']) => past.some((earlier) => earlier.kind === kind);
  const did = (kind: Action['kind']) => actions.some((action) => action.kind === kind);
  switch (event.kind) {
    case 'acquired':
    case 'not-acquired':
      return !has('acquired') && !has('not-acquired');
    case 'child-exited':
      return did('start-child') && !has('child-exited');
    case 'swept':
      return did('sweep') && !has('swept');
    case 'released':
      return did('release') && !has('released');
    case 'lost':
    case 'max-run':
    case 'stop-asked':
    case 'kill-due':
      return did('start-child');
    default:
      return true;
  }
}

function* histories(depth: number): Generator<History> {
  const pending: History[] = [{ state: initialState, events: [], actions: [] }];
  for (let history = pending.pop(); history; history = pending.pop()) {
    yield history;
    if (history.events.length === depth || history.state.phase === 'done') continue;
    for (const event of events) {
      if (!isPossible(history, event)) continue;
      const [state, actions] = transition(history.state, event);
      pending.push({
        state,
        events: [...history.events, event],
        actions: [...history.actions, ...actions],
      });
    }
  }
}

const all = [...histories(6)];
const indexOf = (actions: readonly Action[], kind: Action['kind']) =>
  actions.findIndex((a) => a.kind === kind);
const countOf = (actions: readonly Action[], kind: Action['kind']) =>
  actions.filter((a) => a.kind === kind).length;

/** Fails with the events of the first history that breaks a rule. */
function expectNone(isBroken: (history: History) => boolean): void {
  const breach = all.find(isBroken);
  expect(
    breach?.events.map((event) => ('signal' in event ? event.signal : event.kind)),
  ).toBeUndefined();
}

describe('over all orders of six events', () => {
  it('enumerates enough of them to mean something', () => {
    expect(all.length).toBeGreaterThan(10_000);
    for (const phase of ['acquiring', 'holding', 'stopping', 'sweeping', 'releasing', 'done']) {
      expect(all.some(({ state }) => state.phase === phase)).toBe(true);
    }
  });

  it('starts the child at most once, and only after the lock was acquired', () => {
    expectNone(({ actions, events }) => {
      const count = countOf(actions, 'start-child');
      return count > 1 || (count === 1 && !events.some(({ kind }) => kind === 'acquired'));
    });
  });

  it('never starts the child after a signal that ends us', () => {
    expectNone(({ events, actions }) => {
      const first = events.findIndex(({ kind }) => kind === 'acquired');
      const isTold = events.slice(0, Math.max(0, first)).some((event) => event.kind === 'signal');
      return isTold && countOf(actions, 'start-child') > 0;
    });
  });

  it('releases once, and only when nothing of the command can be alive', () => {
    expectNone(({ actions, events }) => {
      if (countOf(actions, 'release') > 1) return true;
      if (countOf(actions, 'release') === 0) return false;
      return countOf(actions, 'start-child') > 0 && !events.some(({ kind }) => kind === 'swept');
    });
  });

  it('sweeps after every child, and only then', () => {
    expectNone(({ actions, events }) => {
      const isOver = events.some(({ kind }) => kind === 'child-exited');
      return countOf(actions, 'sweep') !== (isOver ? 1 : 0);
    });
  });

  it('kills only what it has begun to stop or to sweep', () => {
    expectNone(({ actions }) => {
      const killed = indexOf(actions, 'kill');
      const begun = actions.findIndex(({ kind }) => kind === 'stop' || kind === 'sweep');
      return killed >= 0 && (begun < 0 || killed < begun);
    });
  });

  it('kills whenever the kill is due and a process may be alive', () => {
    expectNone((history) => {
      if (history.state.phase !== 'stopping' && history.state.phase !== 'sweeping') return false;
      const [, actions] = transition(history.state, { kind: 'kill-due' });
      return countOf(actions, 'kill') !== 1;
    });
  });

  it('exits 79 whenever the lock was lost while the child lived', () => {
    expectNone(({ state, events }) => {
      if (state.phase !== 'done') return false;
      const lost = events.findIndex((event) => event.kind === 'lost' && event.reason === 'taken');
      const exited = events.findIndex(({ kind }) => kind === 'child-exited');
      return lost >= 0 && lost < exited && exitStatusOf(endingOf(state), 75).code !== 79;
    });
  });

  it('never exits 0 unless the child ended by itself before anything else', () => {
    expectNone(({ state }) => {
      if (state.phase !== 'done') return false;
      return exitStatusOf(endingOf(state), 75).code === 0 && state.cause?.kind !== 'child';
    });
  });

  it('keeps the first cause of ending, unless the lock is lost later', () => {
    expectNone(({ state, events }) => {
      if (state.phase === 'done') return false;
      return events.some((_, index) => {
        const before = replay(events.slice(0, index)).cause;
        const after = replay(events.slice(0, index + 1)).cause;
        return before !== null && after?.kind !== before.kind && after?.kind !== 'lost';
      });
    });
  });

  it('comes to an end from everywhere once the world has answered', () => {
    expectNone(({ state, events: past, actions }) => {
      let now: History = { state, events: past, actions };
      for (const event of [events[1], events[2], ...events.slice(-2)] as Event[]) {
        if (!isPossible(now, event)) continue;
        const [next, more] = transition(now.state, event);
        now = { state: next, events: [...now.events, event], actions: [...now.actions, ...more] };
      }
      return now.state.phase !== 'done';
    });
  });
});

describe('signals while the child runs', () => {
  const holding = replay([{ kind: 'acquired' }]);
  const after = (signal: NodeJS.Signals, from: Partial<SignalEvent> = {}) =>
    transition(holding, sent(signal, from));

  it.each([
    ['SIGTERM', 'stop'],
    ['SIGINT', 'stop'],
    ['SIGHUP', 'relay'],
    ['SIGQUIT', 'relay'],
    ['SIGUSR1', 'relay'],
    ['SIGUSR2', 'relay'],
    ['SIGWINCH', 'relay'],
    ['SIGCONT', 'relay'],
  ] as const)('%s leads to: %s', (signal, kind) => {
    expect(after(signal)[1]).toEqual([{ kind, signal }]);
  });

  const others = ['ALRM', 'VTALRM', 'PROF', 'XCPU', 'IO', 'PWR', 'STKFLT'];
  it.each(others)(
    'SIG%s stops the command by its own stop signal, and does not kill it',
    (name) => {
      const signal = `SIG${name}` as NodeJS.Signals;
      const [stopping, actions] = after(signal);
      expect(actions).toEqual([{ kind: 'stop', signal: null }]);
      expect(transition(stopping, sent(signal))).toEqual([stopping, []]);
    },
  );

  it.each(signalTable)('$names: as the table says, whatever it says', (row) => {
    const [name = ''] = row.names;
    const signal = `SIG${name}` as NodeJS.Signals;
    const actions = {
      stop: [{ kind: 'stop', signal }],
      'stop-signal': [{ kind: 'stop', signal: null }],
      relay: [{ kind: 'relay', signal }],
      suspend: [{ kind: 'suspend' }],
      ignore: [],
      default: [],
    };
    const { running } = row;
    onTestFinished(() => void Object.assign(row, { running }));
    for (const [meaning, expected] of Object.entries(actions)) {
      Object.assign(row, { running: meaning });
      const [state, done] = after(signal);
      expect(done).toEqual(expected);
      const isOrder = meaning === 'stop';
      if (state.phase === 'stopping')
        expect(transition(state, sent(signal))[1]).toEqual(isOrder ? [{ kind: 'kill' }] : []);
    }
  });

  it('docs/supervision.md shows the table of signals', () => {
    const shown = readFileSync('docs/supervision.md', 'utf8');
    for (const row of signalTable) {
      const { names, running, endsWait, isRaisedAgain } = row;
      const waiting = endsWait ? 'ends the wait' : '-';
      const status = endsWait ? '128 + n' : '-';
      const end = isRaisedAgain ? 'dies of it' : status;
      const cells = [names.join(', '), waiting, running.replace('-', ' '), end];
      expect(shown).toContain(`| ${cells.join(' | ')} |\n`);
    }
    expect(shown.match(/^\| [A-Z0-9, ]+ \| (ends the wait|-) \|/gm)).toHaveLength(
      signalTable.length,
    );
  });

  it('every signal of this system that is no synonym is in the table', () => {
    const named = Object.keys(constants.signals).map((name) => name.slice('SIG'.length));
    const known = signalTable.flatMap(({ names }) => names);
    expect([...known, 'IOT', 'POLL'].sort()).toEqual(expect.arrayContaining(named.sort()));
  });

  it('SIGTSTP, which only a child in its own session needs from us, leads to: suspend', () => {
    expect(after('SIGTSTP')[1]).toEqual([{ kind: 'suspend' }]);
  });

  it.each(['SIGINT', 'SIGQUIT', 'SIGWINCH'] as const)(
    'leaves %s from the terminal to the child, which has it',
    (signal) => {
      expect(after(signal, { isFromTerminal: true })).toEqual([holding, []]);
    },
  );

  it('takes a Ctrl-C right after another for an order to stop', () => {
    const [, actions] = after('SIGINT', { isFromTerminal: true, isRepeated: true });
    expect(actions).toEqual([{ kind: 'stop', signal: 'SIGINT' }]);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('kills at the second %s', (signal) => {
    const [stopping] = after(signal);
    expect(transition(stopping, sent(signal))[1]).toEqual([{ kind: 'kill' }]);
  });
});

describe('a lock that is lost while the child is being stopped', () => {
  const stopping = replay([{ kind: 'acquired' }, sent('SIGTERM')]);
  const lost = transition(stopping, { kind: 'lost', reason: 'taken' });

  it('is told to the child as well', () =>
    expect(lost[1]).toEqual([{ kind: 'stop', signal: null }]));

  it('is told once', () =>
    expect(transition(lost[0], { kind: 'lost', reason: 'expired' })[1]).toEqual([]));

  it('is no loss when it is only unconfirmed: the kill comes before validity ends', () =>
    expect(transition(stopping, { kind: 'lost', reason: 'unreachable' })).toEqual([stopping, []]));
});

it('a lock that a person breaks while leftover processes end is told with that person', () => {
  const by = { user: 'ann', host: 'desk', pid: 7, note: null };
  const sweeping = replay([
    { kind: 'acquired' },
    { kind: 'child-exited', exit: { kind: 'exited', code: 0 } },
  ]);
  const [state] = transition(sweeping, { kind: 'lost', reason: 'expired', by });
  expect(state.cause).toEqual({ kind: 'lost', reason: 'expired', by });
});

describe('processes that we may not kill', () => {
  const unkillable = [{ pid: 42, user: 'root (uid 0)' }];

  it('are known at the release after the child has ended', () => {
    const sweeping = replay([
      { kind: 'acquired' },
      { kind: 'child-exited', exit: { kind: 'exited', code: 0 } },
    ]);
    const [state, actions] = transition(sweeping, { kind: 'swept', unkillable });
    expect([state, actions]).toMatchObject([
      { phase: 'releasing', childExit: { kind: 'exited' }, unkillable },
      [{ kind: 'release' }],
    ]);
  });

  it('end the run also when the child itself is one of them', () => {
    const exit = { kind: 'unknown-exit' } as const;
    const sweeping = replay([
      { kind: 'acquired' },
      { kind: 'max-run' },
      { kind: 'kill-due' },
      { kind: 'child-exited', exit },
    ]);
    const [state, actions] = transition(sweeping, { kind: 'swept', unkillable });
    expect([state, actions]).toMatchObject([
      { phase: 'releasing', cause: { kind: 'max-run' }, childExit: { kind: 'unknown-exit' } },
      [{ kind: 'release' }],
    ]);
  });
});

describe('a caller that is gone', () => {
  const gone = { kind: 'caller-gone' } as const;

  it('ends the wait, and a lock that comes after all is released', () => {
    const [waiting, actions] = transition(initialState, gone);
    expect(actions).toEqual([{ kind: 'abandon-acquisition' }]);
    expect(transition(waiting, { kind: 'acquired' })[1]).toEqual([{ kind: 'release' }]);
    expect(waiting.cause).toEqual(gone);
  });

  it('is seen by the guard, which starts nothing: the lock is released', () => {
    const holding = replay([{ kind: 'acquired' }]);
    const [state, actions] = transition(holding, { kind: 'child-exited', exit: gone });
    expect([state.cause, actions]).toEqual([gone, [{ kind: 'release' }]]);
    expect(isKept(state, 'always')).toBe(false);
  });

  it('changes nothing once the command runs, or where a signal came first', () => {
    for (const past of [[{ kind: 'acquired' }], [sent('SIGTERM')]] as const)
      expect(transition(replay(past), gone)).toEqual([replay(past), []]);
  });
});

describe('a guard that dies', () => {
  const lost = { kind: 'lost', reason: 'guard-lost' } as const;

  it('is a loss while the command runs', () => {
    const [state, actions] = transition(replay([{ kind: 'acquired' }]), lost);
    expect([state.cause, actions]).toEqual([lost, [{ kind: 'stop', signal: null }]]);
  });

  it('in the middle of the start: never started again, and what may run is ended first', () => {
    const exit = { kind: 'unknown-start' } as const;
    const [state, actions] = transition(replay([{ kind: 'acquired' }]), {
      kind: 'child-exited',
      exit,
    });
    expect(state).toMatchObject({ phase: 'sweeping', cause: lost, childExit: exit });
    expect(actions).toEqual([{ kind: 'report', event: exit }, { kind: 'sweep' }]);
  });

  it.each<[string, readonly Event[]]>([
    ['stopped', [{ kind: 'acquired' }, { kind: 'max-run' }]],
    ['swept', [{ kind: 'acquired' }, { kind: 'child-exited', exit: { kind: 'exited', code: 0 } }]],
  ])('changes nothing while the command is %s: the other one goes on', (_, past) => {
    expect(transition(replay(past), lost)).toEqual([replay(past), []]);
  });
});

describe('a lock that is missing when it is to be released', () => {
  const ended = (exit: ChildExit): readonly Event[] => [
    { kind: 'acquired' },
    { kind: 'child-exited', exit },
    { kind: 'swept', unkillable: [] },
  ];
  const well = ended({ kind: 'exited', code: 3 });
  const stopped = (event: Event): readonly Event[] => [
    { kind: 'acquired' },
    event,
    ...well.slice(1),
  ];
  const after = (past: readonly Event[], reason: 'taken' | 'expired') => {
    const [state, actions] = transition(replay(past), { kind: 'missing', reason });
    return [state.cause?.kind, actions];
  };
  const reported = (event: string) => [{ kind: 'report', event: { kind: `${event}-at-release` } }];

  it('taken: lost, whatever the command returned, or for whatever it was stopped', () => {
    expect(after(well, 'taken')).toEqual(['lost', reported('lost')]);
    expect(after(stopped({ kind: 'max-run' }), 'taken')).toEqual(['lost', reported('lost')]);
  });

  it('only missing: reported, and the exit code of the command stands', () => {
    expect(after(well, 'expired')).toEqual(['child', reported('missing')]);
  });

  it('stopped for a newer run: told, and still replaced', () => {
    expect(after(stopped({ kind: 'replaced', by: 'b' }), 'taken')).toEqual([
      'replaced',
      reported('missing'),
    ]);
  });

  it('stopped on request: told, and still stopped; the lock is not kept', () => {
    const asked = stopped({ kind: 'stop-asked', by });
    expect(after(asked, 'taken')).toEqual(['stopped', reported('missing')]);
    expect(isKept(replay(asked), 'always')).toBe(false);
    expect(isKept(replay(well), 'always')).toBe(true);
    expect(exitStatusOf(endingOf(replay(asked)), 75).code).toBe(79);
  });

  it('lost before, or under a command that never ran: no news', () => {
    expect(after(stopped({ kind: 'lost', reason: 'expired' }), 'taken')).toEqual(['lost', []]);
    expect(after(ended({ kind: 'not-found' }), 'taken')).toEqual(['child', []]);
  });
});

function replay(past: readonly Event[]): State {
  return past.reduce((state, event) => transition(state, event)[0], initialState);
}
