// The lines for people: `what: which: why (what to do)`, always one line, whatever a name or a
// value holds.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { closingLineOf, eventLine, type WaitEvent } from '../../../src/cli/run-lines.ts';
import { renderValue } from '../../../src/lock/value.ts';
import type { NotAcquired } from '../../../src/lock/wait.ts';
import {
  type Cause,
  type ChildExit,
  notStarted,
  type RunEvent,
  type RunRecord,
} from '../../../src/run/record.ts';
import { failuresLine, heldByLine, holderLine, roughly } from '../../../src/text/lines.ts';
import { generous } from '../../servers/patience.ts';
import { anyText } from '../any-text.ts';

const record = {
  host: 'web1',
  pid: 4711,
  user: 'root',
  since: '2026-11-21T02:00:00.000Z',
  label: 'backup.sh',
};
const ours = renderValue('token', record);
const down = { kind: 'failed', cause: 'connection', message: 'connection refused' } as const;
const failures = [
  { master: 'redis://a', failed: down },
  {
    master: 'redis://b',
    failed: { ...down, cause: 'timeout', message: 'no answer within 500 ms' },
  },
] as const;

test.each([
  [0, '0ms'],
  [0.4, '0ms'],
  [999, '999ms'],
  [1_000, '1s'],
  [4_230, '4.2s'],
  [59_940, '59.9s'],
  [60_000, '1m'],
  [65_400, '1m5s'],
  [3_600_000, '1h'],
  [-150, '-150ms'],
  [-65_000, '-1m5s'],
])('%d ms is %s', (ms, text) => {
  expect(roughly(ms)).toBe(text);
});

describe('the holder', () => {
  test.each([
    [
      ours,
      29_900,
      'held by root@web1, pid 4711, backup.sh, since 2026-11-21T02:00:00.000Z; lease ends ' +
        'in 29.9s unless extended',
    ],
    ['0af3', 500, 'held by another program (value 0af3); lease ends in 500ms unless extended'],
    [
      'x'.repeat(100),
      500,
      `held by another program (value ${'x'.repeat(40)}...); lease ends in 500ms unless extended`,
    ],
    ['(a hash)', null, 'held by another program (a hash); it never expires by itself'],
    [
      '(an empty value)',
      500,
      'held by another program (an empty value); lease ends in 500ms unless extended',
    ],
    ['(free)', 500, 'held by another program (value (free)); lease ends in 500ms unless extended'],
    ['', null, 'free, but other waiters are ahead in the queue'],
  ])('%.20j, %j ms', (value, remainingMs, line) => {
    expect(holderLine(value, remainingMs, 1)).toBe(line);
  });
});

test('failures are listed master by master', () => {
  expect(failuresLine(failures)).toBe(
    'redis://a: connection refused; redis://b: no answer within 500 ms',
  );
});

const lost: Cause = { kind: 'lost', reason: 'taken' };
const events: readonly (readonly [Exclude<RunEvent, WaitEvent>, string])[] = [
  [
    { kind: 'master-failing', master: 'redis://a', failed: down },
    'warning: redis://a: connection refused; the lock needs only a quorum of the masters',
  ],
  [{ kind: 'master-recovered', master: 'redis://a' }, 'recovered: redis://a: answers again'],
  [
    { kind: 'master-repaired', master: 'redis://a' },
    'repaired: redis://a: had lost our value and shows it again',
  ],
  [
    { kind: 'master-jumped', master: 'redis://a', aheadMs: 2_000 },
    'warning: redis://a: its clock went 2s ahead, and its keys expire by it (let NTP slew ' +
      'the clock, never step it)',
  ],
  [
    { kind: 'master-jumped', master: 'redis://a', aheadMs: -2_000 },
    'warning: redis://a: its clock went 2s back, and its keys expire by it (let NTP slew ' +
      'the clock, never step it)',
  ],
  [
    { kind: 'fence-raised', fence: 1234 },
    'fence: "job": masters counted differently, raising all to 1234',
  ],
  [
    { kind: 'acquired', grantedCount: 2, elapsedMs: 3, waitMs: 4_230 },
    'acquired: "job": on 2 masters in 3ms, after waiting 4.2s',
  ],
  [{ kind: 'extended', extendedCount: 3, elapsedMs: 3 }, 'extended: "job": on 3 masters in 3ms'],
  [
    { kind: 'extension-failed', failures, validMs: 4_000 },
    `warning: "job": not extended, valid for another 4s: ${failuresLine(failures)}`,
  ],
  [{ kind: 'released', releasedCount: 3, keepMs: 0 }, 'released: "job": on 3 masters'],
  [
    { kind: 'released', releasedCount: 3, keepMs: 4_000 },
    'released: "job": on 3 masters, kept for another 4s',
  ],
  [
    { kind: 'release-unconfirmed', failures, remainingMs: 4_000 },
    `warning: "job": not released on a quorum: ${failuresLine(failures)} ` +
      '(it expires by itself within 4s)',
  ],
  [{ kind: 'child-started', pid: 7 }, 'started: "job": pid 7'],
  [
    { kind: 'child-exited', exit: { kind: 'exited', code: 3 }, runMs: 4_000 },
    'ended: "job": exit code 3 after 4s',
  ],
  [
    { kind: 'child-exited', exit: { kind: 'cannot-start', why: 'guard: no' }, runMs: null },
    'ended: "job": never started',
  ],
  [{ kind: 'child-exited', exit: { kind: 'not-found' }, runMs: null }, 'ended: "job": not found'],
  [{ kind: 'relayed', signal: 'SIGHUP' }, 'relayed: "job": SIGHUP'],
  [
    { kind: 'stopping', cause: lost, signal: 'SIGTERM', validMs: 4_000, unconfirmedMs: 100 },
    'stopping: "job": lost (taken: masters show the value of another client): sent ' +
      'SIGTERM, lock valid for another 4s',
  ],
  [
    { kind: 'never-started', reason: 'suspended' },
    'lost: "job": suspended: redlock-run did not run when the lock had to be extended ' +
      '(stopped, asleep, busy): the command is not started',
  ],
  [{ kind: 'guard-lost' }, 'warning: "job": the guard process died; ending all that it guarded'],
  [
    { kind: 'unknown-start' },
    'lost: "job": guard-lost: the guard process died, and no command runs without it: the ' +
      'command may have been started: that is not known, and it is not started again',
  ],
  [{ kind: 'killed' }, 'killed: "job": sent SIGKILL'],
  [{ kind: 'lost-at-release' }, 'lost: "job": another client held it when it was released'],
  [
    { kind: 'missing-at-release' },
    'warning: "job": too few masters still showed our value when it was released; another ' +
      'client may have held the lock while the command ran (look at redlockctl history)',
  ],
  [
    { kind: 'clock-jumped', ms: 60_000 },
    'clock: this machine: 1m passed unnoticed (asleep, or its time was set); counted ' +
      'against the lock',
  ],
];

test.each(events)('$kind', (event, line) => {
  expect(eventLine(['job'], event)).toBe(line);
});

const lineOf = (
  cause: Cause,
  childExit: ChildExit | null = null,
  isKilled = false,
  slotCount: number | null = 3,
  unkillable: RunRecord['unkillable'] = [],
) =>
  closingLineOf(
    { names: ['job'], command: ['cmd'], waitMs: null, retries: null, slotCount },
    {
      ...notStarted,
      cause,
      childExit,
      isKilled,
      unkillable,
      unconfirmedMs: cause.kind === 'lost' ? 9_700 : null,
    },
  );
const died: ChildExit = { kind: 'signaled', signal: 'SIGKILL' };

test.each<[string, Cause, ChildExit | null, boolean, string | null]>([
  ['by itself', { kind: 'child' }, { kind: 'exited', code: 3 }, false, null],
  ['of a signal', { kind: 'child' }, died, false, null],
  ['told to', { kind: 'signal', signal: 'SIGTERM' }, null, false, null],
  ['aborted', { kind: 'aborted' }, null, false, null],
  [
    'lost, stopped',
    lost,
    { kind: 'exited', code: 0 },
    false,
    'lost: "job": taken: masters show the value of another client; the command was ' +
      'stopped: exit code 0',
  ],
  [
    'lost, killed',
    { kind: 'lost', reason: 'unreachable' },
    died,
    true,
    'lost: "job": unreachable: no quorum extended it in time, last confirmed 9.7s before; the ' +
      'command was killed: died of SIGKILL',
  ],
  [
    'lost, obeyed after SIGKILL had been sent to what it had started',
    { kind: 'lost', reason: 'suspended' },
    { kind: 'signaled', signal: 'SIGTERM' },
    true,
    'lost: "job": suspended: redlock-run did not run when the lock had to be extended ' +
      '(stopped, asleep, busy), last confirmed 9.7s before; the command was stopped: died of ' +
      'SIGTERM',
  ],
  [
    'lost before the start',
    { kind: 'lost', reason: 'suspended' },
    { kind: 'never-started', reason: 'suspended' },
    false,
    'lost: "job": suspended: redlock-run did not run when the lock had to be extended ' +
      '(stopped, asleep, busy), last confirmed 9.7s before; the command was not started',
  ],
  [
    'too long',
    { kind: 'max-run' },
    died,
    true,
    'max-run: "job": the command ran too long and was killed (raise --max-run)',
  ],
  [
    'too long before the start',
    { kind: 'max-run' },
    { kind: 'never-started', reason: 'suspended' },
    false,
    'max-run: "job": its time was over before the command was started (raise --max-run)',
  ],
  [
    'with a caller that is gone',
    { kind: 'caller-gone' },
    null,
    false,
    'aborted: "job": the caller is gone (stderr was hung up); nothing was started',
  ],
  [
    'not started by a machine that has no room',
    { kind: 'child' },
    { kind: 'cannot-start', why: 'command: there is not enough memory to start it (try again)' },
    false,
    'command: there is not enough memory to start it (try again)',
  ],
])('the end: %s', (_title, cause, childExit, isKilled, line) => {
  expect(lineOf(cause, childExit, isKilled)).toBe(line);
});

test.each<[string, Cause, ChildExit | null, string]>([
  [
    'the command itself',
    { kind: 'max-run' },
    { kind: 'unknown-exit' },
    'max-run: "job": the command ran too long and could not be killed: 12, 13 of root (uid 0) ' +
      '(raise --max-run)',
  ],
  [
    'what it left behind',
    { kind: 'max-run' },
    { kind: 'signaled', signal: 'SIGTERM' },
    'max-run: "job": the command ran too long and was stopped; cannot kill 12, 13 of root ' +
      '(uid 0) (raise --max-run)',
  ],
  [
    'the command of a lost lock',
    lost,
    { kind: 'unknown-exit' },
    'lost: "job": taken: masters show the value of another client; the command could not be ' +
      'killed: 12, 13 of root (uid 0)',
  ],
])('the end beside processes that cannot be killed: %s', (_title, cause, childExit, line) => {
  const unkillable = [12, 13].map((pid) => ({ pid, user: 'root (uid 0)' }));
  expect(lineOf(cause, childExit, true, 3, unkillable)).toBe(line);
});

test.each<[string, Cause, ChildExit | null, RegExp]>([
  ['a wait', { kind: 'signal', signal: 'SIGHUP' }, null, /^hangup: "job": SIGHUP ended the wait, /],
  [
    'a command',
    { kind: 'child' },
    { kind: 'signaled', signal: 'SIGHUP' },
    /^hangup: "job": SIGHUP ended the command, .* -- nohup COMMAND; /,
  ],
])('SIGHUP that ended %s is named, with what outlives it', (_title, cause, childExit, line) => {
  expect(lineOf(cause, childExit)).toMatch(line);
});

test.each<[string, NotAcquired, string]>([
  [
    'busy',
    { kind: 'busy', holder: '0af3', holderCount: 1, freeInMs: 500 },
    'busy: "job": held by another program (value 0af3); lease ends in 500ms unless ' +
      'extended (wait longer with -w)',
  ],
  [
    'busy, where masters disagree',
    { kind: 'busy', holder: '0af3', holderCount: 2, freeInMs: null },
    'busy: "job": masters show 2 holders, on some it is held by another program (value ' +
      '0af3); not all of this expires by itself (wait longer with -w)',
  ],
  [
    'busy with so many slots',
    { kind: 'busy', holder: 'slots 3', holderCount: 1, freeInMs: 500 },
    'busy: "job": held on slots, 3 in all; lease ends in 500ms unless extended ' +
      '(wait longer with -w)',
  ],
  [
    'busy with another number of slots',
    { kind: 'busy', holder: 'slots 2', holderCount: 1, freeInMs: 500 },
    'busy: "job": held on slots, 2 in all; lease ends in 500ms unless extended ' +
      '(with --slots 2, not 3: use one number for all runs)',
  ],
  [
    'no quorum for all of the wait',
    { kind: 'unreachable', failures, gaveUpAfterMs: null },
    `no quorum: "job": ${failuresLine(failures)}`,
  ],
  [
    'no quorum, and no more waiting for one',
    { kind: 'unreachable', failures, gaveUpAfterMs: 10_000 },
    `no quorum: "job": gave up after 10s (giveUpAfter): ${failuresLine(failures)}`,
  ],
  [
    'too slow',
    { kind: 'too-slow', elapsedMs: 4_000 },
    'no quorum: "job": the masters took 4s, too long for this ttl (raise --ttl)',
  ],
  ['misconfigured', { kind: 'misconfigured', failures }, `masters: ${failuresLine(failures)}`],
])('the end without the lock: %s', (_title, acquisition, line) => {
  expect(lineOf(acquisition)).toBe(line);
});

test('a command that cannot be started is named', () => {
  const commandLine = (childExit: ChildExit, file: string, names: readonly string[] = ['job']) =>
    closingLineOf(
      { names, command: [file], waitMs: null, retries: null, slotCount: null },
      { ...notStarted, cause: { kind: 'child' }, childExit },
    );
  expect(commandLine({ kind: 'not-found' }, 'ls -d /tmp')).toBe(
    'command: "ls -d /tmp": not found (write its words without quotes, or -c STRING for a shell)',
  );
  expect(commandLine({ kind: 'not-found' }, 'a\nb')).toBe(
    String.raw`command: "a\nb": not found (check the name and PATH)`,
  );
  expect(commandLine({ kind: 'not-found' }, 'arg', ['./backup.sh'])).toBe(
    'command: "arg": not found (check the name and PATH; "./backup.sh" was taken for NAME)',
  );
  for (const word of ['cd', 'A=b'])
    expect(commandLine({ kind: 'not-found' }, word)).toBe(
      `command: "${word}": not found (only a shell knows it: write -c STRING)`,
    );
  expect(commandLine({ kind: 'not-executable', message: 'permission denied' }, '/etc')).toBe(
    'command: "/etc": cannot be executed: permission denied (check its permissions)',
  );
});

test('busy on slots, where the run asked for none', () => {
  const busy = { kind: 'busy', holder: 'slots 2', holderCount: 1, freeInMs: 500 } as const;
  expect(lineOf(busy, null, false, null)).toBe(
    'busy: "job": held on slots, 2 in all; lease ends in 500ms unless extended ' +
      '(with --slots 2, this one without: use one form of lock for all runs)',
  );
});

test('every line is one line that acts on no terminal, whatever it quotes', () => {
  const wild = anyText();
  const values = fc.oneof(
    wild,
    fc
      .record({ host: wild, user: wild, since: wild, label: wild })
      .map((parts) => renderValue('t', { ...record, ...parts })),
  );
  fc.assert(
    fc.property(wild, values, (name, holder) => {
      const line = eventLine([name], { kind: 'relayed', signal: 'SIGHUP' });
      expect(`${line} ${holderLine(holder, 5, 1)} ${heldByLine(holder, 5, 1, 0)}`).not.toMatch(
        /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u,
      );
    }),
  );
});

test.each(['n', ':', '//', 'a://', '@', '🔒'])(
  'a name of a megabyte of %j is cut quickly',
  (part) => {
    const startedAt = performance.now();
    const line = eventLine([part.repeat(1_000_000 / part.length)], { kind: 'killed' });
    expect(performance.now() - startedAt).toBeLessThan(generous(2_000));
    expect(line.length).toBeLessThan(400);
  },
);
