// The outcomes of runs, each with its word, its exit status and its sentences, and the reasons for
// which a lock is lost. ends.ts has the kinds of ends that come to an outcome.

import type { KeeperLossReason } from '../lock/lease-keeper.ts';
import { exitCode } from './errors.ts';

interface Row {
  /**
   * The exit status of redlock-run. command: that of the command, or 128 + n; conflict: 75, or what
   * -E sets.
   */
  readonly status: number | 'command' | 'conflict';
  /** In docs/reference.md. */
  readonly meaning: string;
  /** Why the command was not started, or not to anyone's knowledge, in the history. */
  readonly missed: string;
}

/**
 * By the words that --report and the history store; docs/reference.md has this table. A command
 * that failed has run too: its exit code says so.
 */
export const outcomeTable = {
  ran: {
    status: 'command',
    meaning:
      'the command ran to its end, well or not, or died of a signal (HUP is passed on to it)',
    missed: 'how its command ended is not known',
  },
  'not-found': {
    status: exitCode.notFound,
    meaning: 'the command, or the interpreter that it names, was not found',
    missed: 'its command was not found',
  },
  'not-executable': {
    status: exitCode.notExecutable,
    meaning: 'the command cannot be executed',
    missed: 'its command cannot be executed',
  },
  busy: {
    status: 'conflict',
    meaning: 'held by someone else for all of the wait',
    missed: 'others were first',
  },
  superseded: {
    status: 'conflict',
    meaning: 'a newer waiter took its position (`--supersede`)',
    missed: 'a newer run came',
  },
  nested: {
    status: 'conflict',
    meaning: 'held by an enclosing run, or by `redlockctl hold` for its own script',
    missed: 'an enclosing run held the lock',
  },
  'no-quorum': {
    status: exitCode.unreachable,
    meaning: 'too few masters answered, or too slowly, to tell whether the lock is held',
    missed: 'no quorum of masters answered',
  },
  misconfigured: {
    status: exitCode.config,
    meaning: 'the masters themselves say that their list, or the login, is wrong',
    missed: 'the masters are not the right ones, or refuse the login',
  },
  aborted: {
    status: 'conflict',
    meaning: 'the wait was ended, or the caller was gone, before the command was started',
    missed: 'its wait was ended, or its caller was gone',
  },
  signal: {
    status: 'command',
    meaning: 'redlock-run was told to stop by a signal',
    missed: 'told to stop',
  },
  'max-run': {
    status: exitCode.maxRun,
    meaning: '`--max-run` was exceeded',
    missed: '--max-run was exceeded before the start',
  },
  lost: {
    status: exitCode.lost,
    meaning: 'the lock was lost, or with `--reentrant` that of the enclosing run',
    missed: 'too late to start under its lease',
  },
  replaced: {
    status: exitCode.lost,
    meaning: 'stopped for a newer run (`--replace`)',
    missed: 'stopped for a newer run',
  },
  stopped: {
    status: exitCode.lost,
    meaning: 'a person asked for it (`redlockctl stop`)',
    missed: 'an operator stopped it (redlockctl stop)',
  },
  'not-started': {
    status: exitCode.unreachable,
    meaning:
      'nothing was started, and nothing stays locked: settings or this machine do not allow it',
    missed: 'its settings or its machine did not allow it',
  },
  bug: {
    status: exitCode.bug,
    meaning: 'a bug in redlock-run; the command was ended',
    missed: 'a bug in redlock-run',
  },
} as const satisfies Readonly<Record<string, Row>>;

export type Outcome = keyof typeof outcomeTable;

/** Whether a word from a master is one of them: another version may have written it. */
export function isOutcome(word: string): word is Outcome {
  return Object.hasOwn(outcomeTable, word);
}

/**
 * taken, expired: a quorum of masters confirmed it. unreachable: no extension was confirmed in
 * time. suspended: time ran out while this process was stopped, asleep or busy. guard-lost: a guard
 * died while the command ran. masters-replaced: later runs find other local masters.
 * starved: under the CPU quota, ending the command could have taken longer than the lock was valid.
 */
export type RunLossReason = KeeperLossReason | 'guard-lost' | 'masters-replaced' | 'starved';

/** What --report, the history and hooks call it: `broken` where an operator broke the lock. */
export type LossWord = RunLossReason | 'broken';

/** What happened, as it is reported at once, and in the history. */
const lossTable: Readonly<Record<LossWord, readonly [now: string, past: string]>> = {
  broken: ['an operator broke it', 'an operator broke it'],
  taken: ['masters show the value of another client', 'masters showed the value of another client'],
  expired: [
    'too few masters still confirm it: it was broken, or not extended in time',
    'too few masters still confirmed it',
  ],
  unreachable: ['no quorum extended it in time', 'no quorum extended it in time'],
  suspended: [
    '{program} did not run when the lock had to be extended (stopped, asleep, busy)',
    'its holder did not run when it had to be extended (stopped, asleep, busy)',
  ],
  'guard-lost': [
    'the guard process died, and no command runs without it',
    'no guard process was left',
  ],
  'masters-replaced': [
    'the local masters were removed, and later runs start others',
    'the local masters were removed',
  ],
  starved: [
    'under the CPU quota, the command could outlive the lock (raise --ttl)',
    'the CPU quota left too little time to end it before the lock expired',
  ],
};

/** Why a lease was lost, which `program` was to extend: "taken: masters show ...". */
export function lossLine(reason: RunLossReason, program: string): string {
  return `${reason}: ${lossTable[reason][0].replace('{program}', program)}`;
}

/** The same in the history; null for a word of another version. */
export function pastLoss(word: string): string | null {
  return Object.hasOwn(lossTable, word) ? lossTable[word as LossWord][1] : null;
}
