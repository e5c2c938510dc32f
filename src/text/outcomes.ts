// How a run can end, as the words that --report and the history store. A sentence about the word is
// from a table over all of them, so that none is shown as it is stored.

import type { KeeperLossReason } from '../lock/lease-keeper.ts';

/**
 * All outcomes with their meaning; docs/reference.md has this table. A command that failed has run
 * too: its exit code says so.
 */
export const outcomeTable = {
  ran: 'the command ran to its end, well or not, or died of a signal (HUP is passed on to it)',
  'not-found': 'the command, or the interpreter that it names, was not found',
  'not-executable': 'the command cannot be executed',
  busy: 'held by someone else for all of the wait',
  superseded: 'a newer waiter took its position (`--supersede`)',
  nested: 'held by an enclosing run, or by `redlockctl hold` for its own script',
  'no-quorum': 'too few masters answered, or too slowly, to tell whether the lock is held',
  misconfigured: 'the masters themselves say that their list, or the login, is wrong',
  aborted: 'the wait was ended, or the caller was gone, before the command was started',
  signal: 'redlock-run was told to stop by a signal',
  'max-run': '`--max-run` was exceeded',
  lost: 'the lock was lost, or with `--reentrant` that of the enclosing run',
  replaced: 'stopped for a newer run (`--replace`)',
  stopped: 'a person asked for it (`redlockctl stop`)',
  'not-started':
    'nothing was started, and nothing stays locked: settings or this machine do not allow it',
  bug: 'a bug in redlock-run; the command was ended',
} as const;

export type Outcome = keyof typeof outcomeTable;

/** Whether a word from a master is one of them: another version may have written it. */
export function isOutcome(word: string): word is Outcome {
  return Object.hasOwn(outcomeTable, word);
}

/**
 * taken, expired: a quorum of masters said so. unreachable: no extension was confirmed in time.
 * suspended: time ran out while this process was stopped, asleep or busy. guard-lost: a guard died
 * while the command ran. masters-replaced: later runs find other local masters.
 * starved: under the CPU quota, ending the command could have taken longer than the lock was valid.
 */
export type RunLossReason = KeeperLossReason | 'guard-lost' | 'masters-replaced' | 'starved';

/** What --report, the history and hooks call it: `broken` where an operator broke the lock. */
export type LossWord = RunLossReason | 'broken';
