// How a run can end: the one table of the kinds of ends, each with its outcome and its line, `what:
// which: why (what to do)`. The lines about a lock that was not acquired are those of redlockctl
// and the library too.

import type { Unkillable } from '../lock/history.ts';
import { type Person, parseFreeze } from '../lock/people.ts';
import { parseValue, sharingIn } from '../lock/value.ts';
import type { NotAcquired } from '../lock/wait.ts';
import { quoted } from './foreign-text.ts';
import {
  failuresLine,
  holderLine,
  oneOf,
  personLine,
  roughly,
  unkillableLine,
  waiterLine,
  whichOf,
} from './lines.ts';
import { lossLine, type Outcome, type RunLossReason } from './outcomes.ts';

export type ChildExit =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signaled'; readonly signal: NodeJS.Signals }
  /** `interpreter`: what a script names in its `#!` line, and what is not there. */
  | { readonly kind: 'not-found'; readonly interpreter?: string }
  | { readonly kind: 'not-executable'; readonly message: string }
  /** How it has ended or will end is not known: its guard is lost, or it could not be killed. */
  | { readonly kind: 'unknown-exit' }
  /** A guard died in the middle of the start. */
  | { readonly kind: 'unknown-start' }
  /** This machine cannot start it now: `why` is for operators. */
  | { readonly kind: 'cannot-start'; readonly why: string }
  /** It was not started, because its caller is gone: stderr is hung up. */
  | { readonly kind: 'caller-gone' }
  /** It was certainly not started: why the lock was lost before. */
  | { readonly kind: 'never-started'; readonly reason: RunLossReason };

/** `by`: who broke it. `isOutlived`: the command or its leftovers lived when validity ended. */
export interface Lost {
  readonly kind: 'lost';
  readonly reason: RunLossReason;
  readonly by?: Person;
  readonly isOutlived?: true;
}

/** Why a run ended. */
export type Cause =
  | NotAcquired
  | { readonly kind: 'child' }
  | { readonly kind: 'signal'; readonly signal: NodeJS.Signals }
  | { readonly kind: 'max-run' }
  /** Its caller is gone: stderr was hung up while it waited. */
  | { readonly kind: 'caller-gone' }
  /** For a newer run, where both have --replace; `by` is the waiter's id. */
  | { readonly kind: 'replaced'; readonly by: string }
  /** An operator requested it (redlockctl stop). */
  | { readonly kind: 'stopped'; readonly by: Person }
  /** `isAtRelease`: noticed at the release, when the command had ended. */
  | (Lost & { readonly isAtRelease?: true });

type End = Exclude<Cause, { kind: 'child' }> | ChildExit;

/** Whether others had the lock, or came first: then the run is no error, and its status is 75. */
export function isRefused({ kind }: Cause): boolean {
  return kind === 'busy' || kind === 'superseded' || kind === 'nested';
}

/** How a program calls its settings, for what to do. */
export interface Wording {
  readonly ttl: string;
  readonly giveUpAfter: string;
  /** For a lock that stays held by this value. */
  readonly onBusy: (holder: string) => string;
  /** For a lock that an enclosing run holds; null: nothing. */
  readonly onNested: string | null;
}

/** What a line shows beside the end, much of it as in RunRecord. `file`: the command's. */
interface Shown {
  readonly names: readonly string[];
  readonly wording: Wording;
  readonly file: string;
  readonly childExit: ChildExit | null;
  readonly isKilled: boolean;
  readonly unkillable: readonly Unkillable[];
  readonly unconfirmedMs: number | null;
}

interface Row<One> {
  readonly outcome: Outcome;
  /** Absent: the exit status says enough. */
  readonly line?: (end: One, which: string, shown: Shown) => string | null;
  /** The same within another line, about the command. */
  readonly brief?: (end: One) => string;
}

type Rows = { readonly [Kind in End['kind']]: Row<Extract<End, { kind: Kind }>> };

const neverStarted = () => 'never started';
const unknown: Row<End> = { outcome: 'ran', brief: () => 'how it ended is not known' };
const outliveAdvice = 'run it under setsid';

const rows: Rows = {
  busy: {
    outcome: 'busy',
    line: (end, _, { names, wording }) => {
      const { holder, freeInMs, holderCount, queuedCount, blockedName } = end;
      const held = holderLine(holder, freeInMs, holderCount);
      const which = oneOf(names, blockedName);
      if (queuedCount === undefined) return busyLine(which, held, wording.onBusy(holder));
      const queue = `${queuedCount} waiting already; ${held}`;
      return busyLine(which, queue, 'try later, or raise --max-waiters');
    },
  },
  superseded: {
    outcome: 'superseded',
    line: ({ by }, which) => busyLine(which, `superseded by ${waiterLine(by)}`, null),
  },
  nested: {
    outcome: 'nested',
    line: ({ holder }, which, { wording }) =>
      heldAroundLine(which, parseValue(holder).record?.forPid, wording.onNested),
  },
  unreachable: {
    outcome: 'no-quorum',
    line: ({ failures, gaveUpAfterMs }, which, { wording }) =>
      noQuorumLine(which, failuresLine(failures), gaveUpAfterMs, wording.giveUpAfter),
  },
  'too-slow': {
    outcome: 'no-quorum',
    line: ({ elapsedMs }, which, { wording }) => {
      const why = `the masters took ${roughly(elapsedMs)}, too long for this ttl`;
      return noQuorumLine(which, `${why} (raise ${wording.ttl})`, null, '');
    },
  },
  misconfigured: {
    outcome: 'misconfigured',
    line: ({ failures }) => `masters: ${failuresLine(failures)}`,
  },
  'enclosing-lost': {
    outcome: 'lost',
    line: (_, which) => {
      const why = 'the enclosing run has ended, or did not start this one';
      const advice = 'leave out --reentrant to acquire it';
      return `lost: ${which}: ${why} (${advice}); the command was not started`;
    },
  },
  aborted: { outcome: 'aborted' },
  'caller-gone': {
    outcome: 'aborted',
    line: (_, which) =>
      `aborted: ${which}: the caller is gone (stderr was hung up); nothing was started`,
    brief: neverStarted,
  },
  signal: {
    outcome: 'signal',
    line: ({ signal }, which) =>
      signal === 'SIGHUP' ? hangupLine(which, 'the wait', outliveAdvice) : null,
    brief: ({ signal }) => `told to stop by ${signal}`,
  },
  'max-run': {
    outcome: 'max-run',
    line: (_, which, shown) => {
      const isUnstarted = shown.childExit?.kind === 'never-started';
      const ran = () => `the command ran too long and ${stopWord(shown)}${leftLine(shown)}`;
      const why = isUnstarted ? 'its time was over before the command was started' : ran();
      return `max-run: ${which}: ${why} (raise --max-run)`;
    },
  },
  lost: {
    outcome: 'lost',
    line: (lost, which, shown) => {
      const isLate = lost.reason === 'unreachable' || lost.reason === 'suspended';
      const { unconfirmedMs } = shown;
      const hasSince = isLate && unconfirmedMs !== null;
      const since = hasSince ? `, last confirmed ${roughly(unconfirmedMs)} before` : '';
      const became = stopLine(shown, lost.isAtRelease);
      return `lost: ${which}: ${causeOfLoss(lost)}${since}; the command ${became}`;
    },
    brief: (lost) => `lost (${causeOfLoss(lost)})`,
  },
  replaced: {
    outcome: 'replaced',
    line: ({ by }, which, shown) =>
      `replaced: ${which}: stopped for ${waiterLine(by)}; the command ${stopLine(shown)}`,
    brief: ({ by }) => `stopped for ${waiterLine(by)}`,
  },
  stopped: {
    outcome: 'stopped',
    line: ({ by }, which, shown) =>
      `stopped: ${which}: asked by ${personLine(by)}; the command ${stopLine(shown)}`,
    brief: ({ by }) => `asked to stop by ${personLine(by)}`,
  },
  exited: { outcome: 'ran', brief: ({ code }) => `exit code ${code}` },
  signaled: {
    outcome: 'ran',
    line: ({ signal }, which) => {
      const advice = `${outliveAdvice}, or redlock-run NAME -- nohup COMMAND`;
      return signal === 'SIGHUP' ? hangupLine(which, 'the command', advice) : null;
    },
    brief: ({ signal }) => `died of ${signal}`,
  },
  'unknown-exit': unknown,
  'unknown-start': unknown,
  'never-started': { outcome: 'ran', brief: neverStarted },
  'not-found': {
    outcome: 'not-found',
    line: ({ interpreter }, _, { file, names }) => {
      if (interpreter === undefined)
        return `command: ${quoted(file)}: not found (${adviceOn(file, names)})`;
      const why = `its interpreter was not found: ${quoted(interpreter)}`;
      return `command: ${quoted(file)}: ${why} (look at its #! line and line ends)`;
    },
    brief: () => 'not found',
  },
  'not-executable': {
    outcome: 'not-executable',
    line: ({ message }, _, { file }) =>
      `command: ${quoted(file)}: cannot be executed: ${message} (check its permissions)`,
    brief: ({ message }) => message,
  },
  'cannot-start': { outcome: 'not-started', line: ({ why }) => why, brief: neverStarted },
};

function rowOf(end: End): Row<End> {
  return rows[end.kind] as Row<End>;
}

export function outcomeOfEnd(end: End): Outcome {
  return rows[end.kind].outcome;
}

/** The end in a few words, within another line. */
export function briefEnd(end: Cause | ChildExit): string {
  return end.kind === 'child' ? end.kind : (rowOf(end).brief?.(end) ?? end.kind);
}

/** The line about an end that the exit code alone leaves unclear; null: the exit code is enough. */
export function closingLine(end: End, shown: Shown): string | null {
  return rowOf(end).line?.(end, whichOf(shown.names), shown) ?? null;
}

/** The same about a lock that was not acquired. */
export function refusalLine(
  names: readonly string[],
  refusal: NotAcquired,
  wording: Wording,
): string | null {
  const nothing = { childExit: null, isKilled: false, unkillable: [], unconfirmedMs: null };
  return closingLine(refusal, { ...nothing, names, wording, file: '' });
}

/** The line of exit status 75. `why`: what holds it. `advice`: null for none. */
export function busyLine(which: string, why: string, advice: string | null): string {
  return `busy: ${which}: ${why}${advice === null ? '' : ` (${advice})`}`;
}

/**
 * The line of exit status 69, too few masters answered. `failures`: why, as a line;
 * `gaveUpAfterMs`: no quorum answered for that long, and the wait would have gone on; `key`: the
 * setting that limits it.
 */
export function noQuorumLine(
  which: string,
  failures: string,
  gaveUpAfterMs: number | null,
  key: string,
): string {
  const gaveUp = gaveUpAfterMs === null ? '' : `gave up after ${roughly(gaveUpAfterMs)} (${key}): `;
  return `no quorum: ${which}: ${gaveUp}${failures}`;
}

/**
 * The line about a lock for which a process does not wait, because it is part of the holder: of the
 * process for which redlockctl hold holds it, or else of an enclosing run, with this advice.
 */
export function heldAroundLine(
  which: string,
  forPid: number | undefined,
  advice: string | null,
): string {
  if (forPid === undefined) {
    const why = 'held by an enclosing run, which cannot end while this one waits';
    return busyLine(which, why, advice);
  }
  const hold = `held by redlockctl hold for pid ${forPid}`;
  const why = `${hold}, which started this and would wait for itself`;
  return busyLine(which, why, 'redlockctl release it first');
}

/** What ends the wait for this holder's lock. `longer`: how to wait longer. */
export function busyAdvice(holder: string, slotCount: number | null, longer: string): string {
  if (parseFreeze(holder)) return 'redlockctl thaw ends it';
  return otherSlots(holder, slotCount) ?? longer;
}

/** How to wait longer than `waitMs`; null: no limit. */
export function longerWait(waitMs: number | null): string {
  return waitMs === 0 ? 'wait with -w' : 'wait longer with -w';
}

/**
 * What is wrong with a lock on another number of slots than ours; null: it is not held like that.
 * `slotCount`: the number that we ask for; null: none, and then the lock is exclusive or shared.
 */
export function otherSlots(mode: string, slotCount: number | null): string | null {
  const theirs = sharingIn(mode, 0);
  if (theirs.kind !== 'slots' || theirs.slotCount === slotCount) return null;
  const ours =
    slotCount === null
      ? 'this one without: use one form of lock'
      : `not ${slotCount}: use one number`;
  return `with --slots ${theirs.slotCount}, ${ours} for all runs`;
}

export const unknownStart = 'may have been started: that is not known, and it is not started again';

function causeOfLoss({ reason, by }: Lost): string {
  return by ? `broken by ${personLine(by)}` : lossLine(reason, 'redlock-run');
}

/** nohup cannot help: redlock-run handles SIGHUP, and what is handled is not ignored. */
function hangupLine(which: string, ended: string, advice: string): string {
  const why = `SIGHUP ended ${ended}, as when a terminal or ssh session closes`;
  return `hangup: ${which}: ${why} (to outlive it: ${advice}; nohup redlock-run does not help)`;
}

/** Words that only a shell understands; most of them are no programs. */
const shellWord =
  /^(\w+=.*|\.|alias|cd|eval|exec|export|for|if|set|source|ulimit|umask|unset|until|while)$/s;

function adviceOn(file: string, names: readonly string[]): string {
  if (shellWord.test(file)) return 'only a shell knows it: write -c STRING';
  if (/ /.test(file)) return 'write its words without quotes, or -c STRING for a shell';
  const path = names.find((name) => /^[.~]{0,2}\//.test(name));
  return `check the name and PATH${path ? `; ${quoted(path)} was taken for NAME` : ''}`;
}

/**
 * Whether the command itself was killed. SIGKILL may have ended only processes that it had started.
 */
function stopWord({ childExit, isKilled, unkillable }: Shown): string {
  if (unkillable.length > 0 && childExit?.kind === 'unknown-exit') return 'could not be killed';
  const hasDiedOfIt =
    childExit === null ||
    childExit.kind === 'unknown-exit' ||
    (childExit.kind === 'signaled' && childExit.signal === 'SIGKILL');
  return isKilled && hasDiedOfIt ? 'was killed' : 'was stopped';
}

/** "was stopped: exit code 3". `hasEnded`: before there was a reason to stop it. */
function stopLine(end: Shown, hasEnded = false): string {
  const { childExit, unkillable } = end;
  if (childExit?.kind === 'never-started') return 'was not started';
  if (childExit?.kind === 'unknown-start') return unknownStart;
  const word = hasEnded ? 'had ended by then' : stopWord(end);
  const isAlive = childExit?.kind === 'unknown-exit' && unkillable.length > 0;
  const exit = childExit && !isAlive ? `: ${briefEnd(childExit)}` : '';
  return `${word}${exit}${leftLine(end)}`;
}

/** What could not be killed, behind what became of the command. */
function leftLine({ childExit, unkillable }: Shown): string {
  if (unkillable.length === 0) return '';
  const processes = unkillableLine(unkillable);
  return childExit?.kind === 'unknown-exit' ? `: ${processes}` : `; cannot kill ${processes}`;
}
