// The entries in the history of a lock, each one line of JSON of a few hundred bytes: what a run
// did, which the masters receive with the release, and what an operator did to the lock. *Note:* an
// entry has durations and no time of day. The master that keeps it adds its own, so that the runs
// of hosts whose clocks differ are in the right order.

import { boundedPerson, isPerson, maxIdChars, type Person } from './people.ts';
import { bounded, cut, type Holder, isHolderRecord, parseValue, reasonOf } from './value.ts';

/** A process that could not be killed. `user`: whose it is; null: that could not be read. */
export interface Unkillable {
  readonly pid: number;
  readonly user: string | null;
}

/** One run in the history. What is null, or an empty list, is left out of the line. */
export interface RunEntry {
  /** Of the last attempt; the same on all masters, and in an entry that was written twice. */
  readonly token: string;
  readonly host: string;
  readonly pid: number;
  readonly user: string;
  readonly label: string;
  /** What --note says; null: nothing. */
  readonly note: string | null;
  /** The page of its CI job; null: none. */
  readonly url: string | null;
  /** A word of text/outcomes.ts, unless another version or program wrote it. */
  readonly outcome: string;
  /** From the first attempt until the lock was acquired or the wait ended. */
  readonly waitMs: number;
  /** From the acquisition to the release; null: the command was never started. */
  readonly heldMs: number | null;
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
  /** What could not be killed, and may still have run when the lock had expired. */
  readonly unkillable: readonly Unkillable[];
  readonly fence: number | null;
  /** The holder of the lock when the run was last refused; null: it never was. */
  readonly blocker: Holder | null;
}

/** The facts of a run that an entry leaves out: they are unknown, or did not happen. */
export const noFacts = {
  note: null,
  url: null,
  heldMs: null,
  exitCode: null,
  signal: null,
  lossReason: null,
  stoppedBy: null,
  unkillable: [],
  fence: null,
  blocker: null,
} as const satisfies Partial<RunEntry>;

/** An entry that is about to be written. */
export type NewRun = Omit<RunEntry, keyof typeof noFacts> & Partial<RunEntry>;

/** The outcome of a run that has begun, and of whose end no master knows. */
export const vanished = 'vanished';

/** The maximum length of a token, and of what is kept of another program's value. */
const maxChars = { token: 200, foreign: 40 };
/** How many processes an entry names at most. */
const maxUnkillable = 10;
/** A hundred years. */
const maxDurationMs = 100 * 365 * 24 * 60 * 60 * 1000;

export function renderRun(run: NewRun): string {
  const facts = Object.entries(bounds).flatMap(([field, read]) => {
    const value = read(run[field as keyof RunEntry], run);
    return value === null || (Array.isArray(value) && value.length === 0) ? [] : [[field, value]];
  });
  return JSON.stringify({ v: 1, ...Object.fromEntries(facts) });
}

/**
 * null for what is no run. Every client with access to the masters can write to the history, so
 * what is read is bounded.
 */
export function parseRun(line: string): RunEntry | null {
  try {
    const run = JSON.parse(line);
    if (run?.v !== 1) return null;
    const facts = Object.entries(bounds).map(([field, read]) => [field, read(run[field], run)]);
    return facts.some(([, value]) => value === undefined) ? null : Object.fromEntries(facts);
  } catch {
    return null;
  }
}

/** Whether a line is of a command that ended by itself with exit code 0. */
export function isSuccess(line: string): boolean {
  const run = parseRun(line);
  return run?.outcome === 'ran' && run.exitCode === 0;
}

/** What is kept of the holder of this value: of another program's, the beginning. null: none. */
export function blockerOf(value: string): Holder | null {
  if (value === '') return null;
  const { token, record } = parseValue(value);
  return { token: token.slice(0, record === null ? maxChars.foreign : maxChars.token), record };
}

/** Reads a field within its bounds; undefined: it is not valid. */
type Read<Value> = (value: unknown, run: object) => Value | undefined;

const word: Read<string> = (value) => (typeof value === 'string' ? cut(value) : undefined);
const number: Read<number> = (value) => (Number.isFinite(value) ? Number(value) : undefined);
const duration: Read<number> = (value) =>
  Number.isFinite(value) ? Math.min(Math.max(Number(value), 0), maxDurationMs) : undefined;
const token: Read<string> = (value) =>
  typeof value === 'string' ? value.slice(0, maxChars.token) : undefined;

function orNull<Value>(read: Read<Value>): Read<Value | null> {
  return (value, run) => (value === null || value === undefined ? null : read(value, run));
}

/** In the order in which they are written; the scripts expect the token first. */
const bounds: { readonly [Field in keyof RunEntry]: Read<RunEntry[Field]> } = {
  token,
  host: word,
  pid: number,
  user: word,
  label: word,
  note: (_, run) => reasonOf(run).note ?? null,
  url: (_, run) => reasonOf(run).url ?? null,
  outcome: word,
  waitMs: duration,
  heldMs: orNull(duration),
  exitCode: orNull(number),
  signal: orNull(word),
  status: number,
  lossReason: orNull(word),
  stoppedBy: orNull((by) => (isPerson(by) ? boundedPerson(by) : undefined)),
  unkillable: readUnkillable,
  fence: orNull(number),
  blocker: orNull(readBlocker),
};

function readUnkillable(list: unknown = []): readonly Unkillable[] | undefined {
  if (!Array.isArray(list)) return undefined;
  const isProcess = (one: unknown) =>
    isObject(one) &&
    Number.isSafeInteger(one.pid) &&
    (one.user === null || typeof one.user === 'string');
  if (!list.every(isProcess)) return undefined;
  return list
    .slice(0, maxUnkillable)
    .map(({ pid, user }: Unkillable) => ({ pid, user: user && cut(user) }));
}

function readBlocker(blocker: unknown): Holder | undefined {
  if (!isObject(blocker) || typeof blocker.token !== 'string') return undefined;
  const { record } = blocker;
  if (record !== null && !isHolderRecord(record)) return undefined;
  return { token: blocker.token.slice(0, maxChars.token), record: record && bounded(record) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

const actKinds = ['stop', 'break', 'freeze', 'thaw'] as const;
export type ActKind = (typeof actKinds)[number];

export interface Act {
  readonly kind: ActKind;
  /** Unique; the same on all masters, and in an entry that was written twice. */
  readonly id: string;
  readonly by: Person;
  /** The token of the holder or of the freeze that it was done to. */
  readonly token: string;
}

export function renderAct(act: Act): string {
  const { kind, ...rest } = boundedAct(act);
  return JSON.stringify({ v: 1, act: kind, ...rest });
}

/** null for what is no act. Every client may write to a history, so what is read is bounded. */
export function parseAct(line: string): Act | null {
  try {
    const { v, act, id, by, token } = JSON.parse(line) ?? {};
    const kind = actKinds.find((one) => one === act);
    if (v !== 1 || kind === undefined || !isPerson(by)) return null;
    if (typeof id !== 'string' || typeof token !== 'string') return null;
    return boundedAct({ kind, id, by, token });
  } catch {
    return null;
  }
}

function boundedAct({ kind, id, by, token }: Act): Act {
  const bounds = { id: id.slice(0, maxIdChars), token: token.slice(0, maxChars.token) };
  return { kind, ...bounds, by: boundedPerson(by) };
}
