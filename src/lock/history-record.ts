// What is kept of one run in the history of its lock: one line of JSON, which the masters take with the release. Not a log: one
// line a run, written at its end, of a few hundred bytes whatever others have written. It says how long things took and not when
// they were; the master that keeps it adds the time of day, so that runs of hosts whose clocks differ stand in the right order.

import { bounded, cut, type HolderNote, isNote, parseValue } from './value.ts';

/** What held the lock when another was refused. `note` is null for another program's value, of which only the beginning is kept. */
export interface Blocker {
  readonly token: string;
  readonly note: HolderNote | null;
}

export interface RunRecord extends Omit<HolderNote, 'since'> {
  /** Of the last attempt; the same on all masters, and in a line that was written twice. */
  readonly token: string;
  /** As in --report. */
  readonly outcome: string;
  /** From when it began to try until it had the lock, or gave up. */
  readonly waitMs: number;
  /** From when it had the lock until it gave it back; null: the command was never started. */
  readonly heldMs: number | null;
  /** The command's own, null unless it exited by itself. */
  readonly exitCode: number | null;
  /** What the command died of. */
  readonly signal: string | null;
  /** What redlock-run itself exits with. */
  readonly status: number;
  readonly fence: number | null;
  /** Who held the lock when the run was last refused; null: it never was. */
  readonly blocker: Blocker | null;
}

/** Of a token; of another program's value, which may be anything, less. */
const mostChars = { token: 200, foreign: 40 };
/** A hundred years. */
const longestMs = 100 * 365 * 24 * 60 * 60 * 1000;

export function renderRecord(record: RunRecord): string {
  return JSON.stringify({ v: 1, ...withinBounds(record) });
}

/** null for what is no line of ours. Every client with access to the masters can write lines, so they are bounded. */
export function parseRecord(line: string): RunRecord | null {
  try {
    const record: unknown = JSON.parse(line);
    return isRecord(record) ? withinBounds(record) : null;
  } catch {
    return null;
  }
}

/** What is kept of the value that stood in the way; null for none. */
export function blockerOf(value: string): Blocker | null {
  if (value === '') return null;
  const { token, note } = parseValue(value);
  return { token: token.slice(0, note === null ? mostChars.foreign : mostChars.token), note };
}

/** The known fields, none too long, and no time that no run can take. */
function withinBounds(record: RunRecord): RunRecord {
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
  } = record;
  return {
    token: token.slice(0, mostChars.token),
    host: cut(host),
    pid,
    user: cut(user),
    label: cut(label),
    outcome: cut(outcome),
    waitMs: duration(waitMs),
    heldMs: heldMs === null ? null : duration(heldMs),
    exitCode,
    signal: signal && cut(signal),
    status,
    fence,
    blocker: blocker && {
      token: blocker.token.slice(0, mostChars.token),
      note: blocker.note && bounded(blocker.note),
    },
  };
}

function duration(ms: number): number {
  return Math.min(Math.max(ms, 0), longestMs);
}

function isRecord(record: unknown): record is RunRecord {
  if (!isObject(record) || record.v !== 1) return false;
  const { heldMs, exitCode, signal, fence, blocker } = record;
  return (
    ['token', 'host', 'user', 'label', 'outcome'].every(
      (field) => typeof record[field] === 'string',
    ) &&
    ['pid', 'waitMs', 'status'].every((field) => Number.isFinite(record[field])) &&
    [heldMs, exitCode, fence].every((number) => number === null || Number.isFinite(number)) &&
    (signal === null || typeof signal === 'string') &&
    (blocker === null || isBlocker(blocker))
  );
}

function isBlocker(blocker: unknown): blocker is Blocker {
  if (!isObject(blocker) || typeof blocker.token !== 'string') return false;
  return blocker.note === null || isNote(blocker.note);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
