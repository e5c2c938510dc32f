// From how a run ended to what a shell sees: one row an ending.

import { expect, test } from 'vitest';
import { exitStatusOf, outcomeOf } from '../../../src/run/outcome.ts';
import type { Cause, ChildExit, Signal } from '../../../src/run/record.ts';

const conflict = 33;
const statusOf = (cause: Cause, childExit: ChildExit | null = null) =>
  exitStatusOf({ cause, childExit }, conflict);
const child = { kind: 'child' } as const;
const zero = { kind: 'exited', code: 0 } as const;
const callerGone = { kind: 'caller-gone' } as const;
const unreachable = { kind: 'unreachable', failures: [], gaveUpAfterMs: null } as const;
const killed = (signal: Signal): ChildExit => ({ kind: 'signaled', signal });

test.each<[string, Cause, ChildExit | null, number, Signal | null]>([
  ['the command exited with 0', child, zero, 0, null],
  ['the command exited with 1', child, { kind: 'exited', code: 1 }, 1, null],
  ['the command exited with 75, as we might', child, { kind: 'exited', code: 75 }, 75, null],
  ['the command exited with 255', child, { kind: 'exited', code: 255 }, 255, null],
  ['the command died of KILL', child, killed('SIGKILL'), 137, null],
  ['the command died of SEGV', child, killed('SIGSEGV'), 139, null],
  ['the command died of INT', child, killed('SIGINT'), 130, 'SIGINT'],
  ['the command died of TERM', child, killed('SIGTERM'), 143, 'SIGTERM'],
  ['the command died of HUP', child, killed('SIGHUP'), 129, 'SIGHUP'],
  ['the command cannot be executed', child, { kind: 'not-executable', message: 'x' }, 126, null],
  ['the command is not there', child, { kind: 'not-found' }, 127, null],
  [
    'told by TERM, and the command exited with 0',
    { kind: 'signal', signal: 'SIGTERM' },
    zero,
    143,
    'SIGTERM',
  ],
  ['told by INT while waiting', { kind: 'signal', signal: 'SIGINT' }, null, 130, 'SIGINT'],
  ['told by QUIT while waiting', { kind: 'signal', signal: 'SIGQUIT' }, null, 131, null],
  ['ran too long, and the command exited with 0', { kind: 'max-run' }, zero, 124, null],
  ['lost, and the command exited with 0', { kind: 'lost', reason: 'taken' }, zero, 79, null],
  [
    'lost, and the command was killed',
    { kind: 'lost', reason: 'unreachable' },
    killed('SIGKILL'),
    79,
    null,
  ],
  ['busy', { kind: 'busy', holder: 'x', holderCount: 1, freeInMs: 1 }, null, conflict, null],
  ['no quorum', unreachable, null, 69, null],
  ['too slow', { kind: 'too-slow', elapsedMs: 1 }, null, 69, null],
  ['misconfigured', { kind: 'misconfigured', failures: [] }, null, 78, null],
  ['this machine cannot start it', child, { kind: 'cannot-start', why: 'x' }, 69, null],
  ['the caller is gone', { kind: 'caller-gone' }, null, conflict, null],
  ['the caller was gone at the start', { kind: 'caller-gone' }, callerGone, conflict, null],
  [
    'it is not known whether it was started',
    { kind: 'lost', reason: 'guard-lost' },
    { kind: 'unknown-start' },
    79,
    null,
  ],
])('%s', (_title, cause, childExit, code, signal) => {
  expect(statusOf(cause, childExit)).toEqual({ code, signal });
});

test('an outage never looks like contention, whatever -E says', () => {
  for (const code of [0, 69, 75, 255]) {
    expect(exitStatusOf({ cause: unreachable, childExit: null }, code).code).toBe(69);
  }
});

test('a run that its command ended, without the end of the command, is a bug', () => {
  expect(() => statusOf(child)).toThrow();
});

test.each<[Cause, ChildExit | null, string]>([
  [child, { kind: 'cannot-start', why: 'x' }, 'not-started'],
  [{ kind: 'caller-gone' }, null, 'aborted'],
  [{ kind: 'caller-gone' }, callerGone, 'aborted'],
])('the outcome of %j, %j is %s', (cause, childExit, outcome) => {
  expect(outcomeOf({ cause, childExit })).toBe(outcome);
});
