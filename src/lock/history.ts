// The lines in the history of a lock, each one line of JSON of a few hundred bytes: what a run
// did, which the masters receive with the release, and what a person has done to the lock. *Note:*
// a line holds durations and no time of day. The master that keeps it adds its own, so that the
// runs of hosts whose clocks differ stand in the right order.

import { boundedPerson, isPerson, mostIdChars, type Person } from './people.ts';
import { bounded, cut, type HolderRecord, isHolderRecord, parseValue, reasonOf } from './value.ts';

/**
 * What held the lock when a run was refused. `record` is null for another program's value, of which
 * only the beginning is kept.
 */
export interface Blocker {
  readonly token: string;
  readonly record: HolderRecord | null;
}

/** A process that could not be killed. `user`: whose it is; null: that could not be read. */
export interface Unkillable {
  readonly pid: number;
  readonly user: string | null;
}

/** How a run ended: the same facts in its entry, in --report and in the environment of hooks. */
export interface RunEnd {
  readonly outcome: string;
  /** The command's own, null unless it exited by itself. */
  readonly exitCode: number | null;
  /** The signal that the command died of; null: none. */
  readonly signal: string | null;
  /** What redlock-run itself exits with, 128 + n for a signal. */
  readonly status: number;
  /** Why its lock was lost, in one word, `broken` by an operator; null: it was not. */
  readonly lossReason: string | null;
  /** The operator who asked the holder to stop, or broke its lock; null: none is known. */
  readonly stoppedBy: Person | null;
  /** What still ran when the run ended. */
  readonly unkillable: readonly Unkillable[];
}

/** Left out of an entry where there is nothing to report. */
type Rare = 'lossReason' | 'stoppedBy' | 'unkillable';

export interface RunLine
  extends Omit<HolderRecord, 'since'>,
    Omit<RunEnd, Rare>,
    Partial<Pick<RunEnd, Rare>> {
  /** Of the last attempt; the same on all masters, and in a line that was written twice. */
  readonly token: string;
  /** From the first attempt until the lock was acquired or the wait ended. */
  readonly waitMs: number;
  /** From the acquisition to the release; null: the command was never started. */
  readonly heldMs: number | null;
  readonly fence: number | null;
  /** The holder of the lock when the run was last refused; null: it never was. */
  readonly blocker: Blocker | null;
}

/** The longest token that is kept, and the longest part of another program's value. */
const mostChars = { token: 200, foreign: 40 };
/** How many processes an entry names at most. */
const maxUnkillable = 10;
/** A hundred years. */
const longestMs = 100 * 365 * 24 * 60 * 60 * 1000;

export function renderRun(run: RunLine): string {
  return JSON.stringify({ v: 1, ...withinBounds(run) });
}

/** The outcome of a run that has begun, and of whose end no master knows. */
export const vanished = 'vanished';

/** What stands on the masters for as long as they have no line of the run. */
export function renderStart(
  token: string,
  holder: Omit<HolderRecord, 'since'>,
  waitMs: number,
): string {
  return renderRun({
    token,
    ...holder,
    outcome: vanished,
    waitMs,
    heldMs: null,
    exitCode: null,
    signal: null,
    status: 0,
    fence: null,
    blocker: null,
  });
}

/**
 * null for what is no line of a run. Every client with access to the masters can write to the
 * history, so what is read is bounded.
 */
export function parseRun(line: string): RunLine | null {
  try {
    const run: unknown = JSON.parse(line);
    return isRunLine(run) ? withinBounds(run) : null;
  } catch {
    return null;
  }
}

/** Whether a line tells of a command that ended by itself with exit code 0. */
export function isSuccess(line: string): boolean {
  const run = parseRun(line);
  return run?.outcome === 'ran' && run.exitCode === 0;
}

/** What is kept of the value of the holder; null for none. */
export function blockerOf(value: string): Blocker | null {
  if (value === '') return null;
  const { token, record } = parseValue(value);
  return { token: token.slice(0, record === null ? mostChars.foreign : mostChars.token), record };
}

/** The known fields, none too long, and no duration that no run can have. */
function withinBounds(run: RunLine): RunLine {
  const {
    token,
    host,
    pid,
    user,
    label,
    outcome,
    waitMs,
    heldMs,
    exitCode,
    signal,
    status,
    fence,
    blocker,
    stoppedBy,
    lossReason,
    unkillable = [],
  } = run;
  return {
    token: token.slice(0, mostChars.token),
    host: cut(host),
    pid,
    user: cut(user),
    label: cut(label),
    ...reasonOf(run),
    outcome: cut(outcome),
    waitMs: duration(waitMs),
    heldMs: heldMs === null ? null : duration(heldMs),
    exitCode,
    signal: signal && cut(signal),
    status,
    fence,
    blocker: blocker && {
      token: blocker.token.slice(0, mostChars.token),
      record: blocker.record && bounded(blocker.record),
    },
    ...(stoppedBy ? { stoppedBy: boundedPerson(stoppedBy) } : {}),
    ...(lossReason ? { lossReason: cut(lossReason) } : {}),
    ...(unkillable.length > 0
      ? { unkillable: unkillable.slice(0, maxUnkillable).map(boundedProcess) }
      : {}),
  };
}

function boundedProcess({ pid, user }: Unkillable): Unkillable {
  return { pid, user: user === null ? null : cut(user) };
}

function duration(ms: number): number {
  return Math.min(Math.max(ms, 0), longestMs);
}

function isRunLine(run: unknown): run is RunLine {
  if (!isObject(run) || run.v !== 1) return false;
  const { heldMs, exitCode, signal, fence, blocker } = run;
  return (
    ['token', 'host', 'user', 'label', 'outcome'].every(
      (field) => typeof run[field] === 'string',
    ) &&
    ['pid', 'waitMs', 'status'].every((field) => Number.isFinite(run[field])) &&
    [heldMs, exitCode, fence].every((number) => number === null || Number.isFinite(number)) &&
    (signal === null || typeof signal === 'string') &&
    (blocker === null || isBlocker(blocker)) &&
    (run.stoppedBy === undefined || isPerson(run.stoppedBy)) &&
    (run.lossReason === undefined || typeof run.lossReason === 'string') &&
    (run.unkillable === undefined ||
      (Array.isArray(run.unkillable) && run.unkillable.every(isUnkillable)))
  );
}

function isUnkillable(one: unknown): one is Unkillable {
  if (!isObject(one) || !Number.isSafeInteger(one.pid)) return false;
  return one.user === null || typeof one.user === 'string';
}

function isBlocker(blocker: unknown): blocker is Blocker {
  if (!isObject(blocker) || typeof blocker.token !== 'string') return false;
  return blocker.record === null || isHolderRecord(blocker.record);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

const actKinds = ['stop', 'break', 'freeze', 'thaw', 'repair-freeze'] as const;
export type ActKind = (typeof actKinds)[number];

export interface Act {
  readonly kind: ActKind;
  /** Unique; the same on all masters, and in a line that was written twice. */
  readonly id: string;
  readonly by: Person;
  /** The token of the holder or of the freeze that it was done to. */
  readonly token: string;
}

export function renderAct({ kind, id, by, token }: Act): string {
  return JSON.stringify({
    v: 1,
    act: kind,
    id: id.slice(0, mostIdChars),
    by: boundedPerson(by),
    token: token.slice(0, mostChars.token),
  });
}

/** null for what is no act. Every client may write to a history, so what is read is bounded. */
export function parseAct(line: string): Act | null {
  try {
    const { v, act, id, by, token } = JSON.parse(line) ?? {};
    const kind = actKinds.find((one) => one === act);
    if (v !== 1 || kind === undefined || !isPerson(by)) return null;
    if (typeof id !== 'string' || typeof token !== 'string') return null;
    return {
      kind,
      id: id.slice(0, mostIdChars),
      by: boundedPerson(by),
      token: token.slice(0, mostChars.token),
    };
  } catch {
    return null;
  }
}
