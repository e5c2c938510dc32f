// Snapshots of locks and their histories on one master, and the shapes of the replies. Other
// clients write there too, so everything is bounded.

import { parsePermit } from '../lock/value.ts';
import { bytesOf } from '../text/bytes.ts';
import { as, integer, listOf, oneOf, orNull, record, type Shape, text, tuple } from './replies.ts';

/** The longest value or line: the scripts cut longer values, and leave out longer lines. */
const maxShownBytes = 4_096;

/** What one master shows of one lock. */
export interface LockSnapshot {
  /** null: there is no key. A type other than string is no lock; its content is not read. */
  readonly type: string | null;
  /** The value of a string; cut if it is longer than any of ours: see isCut. */
  readonly value: string | null;
  /** null: the key never expires. */
  readonly remainingMs: number | null;
  /** The counter of the fence; null: none. */
  readonly fence: number | null;
  /** The waiters with a sign of life, in order. */
  readonly queue: readonly { readonly id: string; readonly waitedMs: number }[];
  /** The holders of a lock whose value is a lock mode; slot 0: it has no slots. */
  readonly holders: readonly {
    readonly slot: number;
    readonly value: string;
    readonly remainingMs: number;
  }[];
  /** What bars new holders; null: nothing does. */
  readonly freeze: SeenFreeze | null;
  /** Those holders whose run has ended and keeps the lock, and when, by this master's clock. */
  readonly endings: readonly { readonly token: string; readonly atMs: number }[];
}

export interface SeenFreeze {
  readonly value: string;
  /** null: it does not end by itself. */
  readonly remainingMs: number | null;
}

/** One line of a history, as it was written. */
export interface SeenLine {
  /** When this master received it, by its own time of day. */
  readonly takenAtMs: number;
  readonly line: string;
}

export interface Page {
  /** '0': this was the last one. */
  readonly cursor: string;
  readonly resources: readonly string[];
}

/** The runs of one host that were refused and did not wait. */
export interface SeenSkip {
  readonly count: number;
  /** How many of them came after the last run that ended well. */
  readonly countSinceSuccess: number;
  /** By this master's time of day. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** Of the last one, as it was written, and the holder that it was refused for. */
  readonly line: string;
  readonly holder: string;
}

/** A run that has acquired the lock, and of whose end this master does not know. */
export interface SeenStart extends SeenLine {
  readonly token: string;
}

/** The history of one lock on one master. */
export interface SeenHistory {
  /** This master's time of day when it answered. */
  readonly nowMs: number;
  /** Newest first. */
  readonly lines: readonly SeenLine[];
  readonly skips: readonly SeenSkip[];
  readonly starts: readonly SeenStart[];
  /** When a run last ended well; null: not known. */
  readonly succeededAtMs: number | null;
}

/** Of a lock without one. */
export const noHistory: SeenHistory = {
  nowMs: 0,
  lines: [],
  skips: [],
  starts: [],
  succeededAtMs: null,
};

export interface SeenHistories {
  /** The histories of the first of the requested locks, in their order. */
  readonly histories: readonly SeenHistory[];
  /** False: the last of these histories has older lines, and those behind it were not read. */
  readonly isWhole: boolean;
}

/** Whether only the beginning of a value is known, so that it cannot be compared. */
export function isCut(value: string): boolean {
  return Buffer.byteLength(bytesOf(value)) > maxShownBytes;
}

/** The most keys in one reply. */
const maxKeys = 100_000;
/** Longer keys lock nothing: a name has 4,096 bytes at most. */
const maxKeyChars = 8_192;
const keyShape = text(Number.POSITIVE_INFINITY);
/** Cursors are numbers of 64 bits. */
const cursorShape: Shape<string> = (reply) => {
  const cursor = text(20)(reply);
  return /^\d+$/.test(cursor) ? cursor : oneOf('a cursor')(reply);
};

/** The reply to SCAN. `nameOf`: the resource of a key; null: it is none. */
export function scannedPage(nameOf: (key: string) => string | null): Shape<Page> {
  return as(tuple(cursorShape, listOf(keyShape, maxKeys)), ([cursor, keys]) => {
    const ours = keys.filter((key) => key.length <= maxKeyChars);
    return { cursor, resources: ours.flatMap((key) => nameOf(key) ?? []) };
  });
}

/** The reply to ZRANGE about `count` histories behind the first `read`, latest change first. */
export function changedPage(
  read: number,
  count: number,
  sinceMs: number,
  nameOf: (key: string) => string | null,
): Shape<Page> {
  return as(changedKeys, (members) => {
    const changed = members.filter(({ changedByMs }) => !(changedByMs <= sinceMs));
    const isLast = members.length < count || changed.length < members.length;
    return {
      cursor: isLast ? '0' : String(read + count),
      resources: changed.flatMap(({ key }) => nameOf(key) ?? []),
    };
  });
}

/** The members of the sorted set of all histories. Its score: see scripts/history.lua. */
const changedKeys = pairs(keyShape, text(40), (key, score) => ({
  key,
  /** The end of the second in which it last changed, by the master's clock; NaN: not known. */
  changedByMs: (Math.floor(Number(score) / 2 ** 21) + 1) * 1000,
}));

const lines = listOf(text(maxShownBytes), 1_000_000);
const facts = pairs(text(maxShownBytes), text(maxShownBytes), (name, fact) => ({ name, fact }));

/** The reply of the script `history` about this many locks at most. */
export function historiesOfAtMost(max: number): Shape<SeenHistories> {
  const ofEach = listOf(tuple(lines, facts), max);
  const reply = record({ isWhole: oneOf(0, 1), nowMs: integer(0), histories: ofEach });
  return as(reply, ({ isWhole, nowMs, histories }) => ({
    isWhole: isWhole === 1,
    histories: histories.map(([entries, known]) => historyOf(nowMs, entries, known)),
  }));
}

/** Other clients can write there too: what is no line and no fact is left out. */
function historyOf(
  nowMs: number,
  entries: readonly string[],
  known: readonly { readonly name: string; readonly fact: string }[],
): SeenHistory {
  const success = known.find(({ name }) => name === 'success')?.fact;
  const skips = known.filter(({ name }) => name.startsWith('skip '));
  return {
    nowMs,
    lines: entries.flatMap((entry) => lineOf(entry) ?? []),
    starts: known.flatMap(({ name, fact }) => {
      const line = name.startsWith('run ') && lineOf(fact);
      return line ? [{ ...line, token: name.slice('run '.length) }] : [];
    }),
    skips: skips.flatMap(({ fact }) => skipOf(fact, success ?? '0') ?? []),
    succeededAtMs: success !== undefined && /^\d{1,15}$/.test(success) ? Number(success) : null,
  };
}

/** null for what is none. */
function lineOf(entry: string): SeenLine | null {
  const [, ms, line = ''] = /^(\d{1,15}) (.*)$/s.exec(entry) ?? [];
  return ms === undefined ? null : { takenAtMs: Number(ms), line };
}

/** See scripts/history.lua. `success`: the time for which a count since then is of use. */
function skipOf(fact: string, success: string): SeenSkip | null {
  const [, count, since, after, first, last, line = '', holder = ''] =
    /^(\d{1,15}) (\d{1,15}) (\d{1,15}) (\d{1,15}) (\d{1,15}) \S+ ([^\n]*)\n(.*)$/s.exec(fact) ?? [];
  if (count === undefined) return null;
  return {
    count: Number(count),
    countSinceSuccess: after === success ? Number(since) : 0,
    firstAtMs: Number(first),
    lastAtMs: Number(last),
    line,
    holder,
  };
}

const value = text(maxShownBytes + 1);
const queue = pairs(text(200), integer(0), (id, waitedMs) => ({ id, waitedMs }));
const endings = pairs(text(maxShownBytes), integer(0), (token, atMs) => ({ token, atMs }));
const members = pairs(text(maxShownBytes + 1), integer(0), (member, remainingMs) => {
  const parsed = parsePermit(member);
  return parsed && { ...parsed, remainingMs };
});

export const snapshotShape = as(
  record({
    type: text(80),
    value: orNull(value),
    ttl: integer(-2),
    fence: orNull(text(30)),
    queue,
    holders: members,
    freeze: orNull(value),
    freezeTtl: integer(-2),
    endings,
  }),
  ({ type, value, ttl, fence, queue, holders, freeze, freezeTtl, endings }): LockSnapshot => ({
    type: type === 'none' ? null : type,
    value,
    remainingMs: leftOf(ttl),
    fence: fence !== null && isCounter(fence) ? Number(fence) : null,
    queue,
    holders: holders.filter((one) => one !== null),
    freeze: freeze === null ? null : { value: freeze, remainingMs: leftOf(freezeTtl) },
    endings,
  }),
);

function isCounter(text: string): boolean {
  return /^\d+$/.test(text) && Number.isSafeInteger(Number(text));
}

/** null: indefinitely. */
function leftOf(ttl: number): number | null {
  return ttl < 0 ? null : ttl;
}

/** A flat list of pairs. */
function pairs<First, Second, Value>(
  first: Shape<First>,
  second: Shape<Second>,
  make: (first: First, second: Second) => Value,
): Shape<readonly Value[]> {
  return (reply) => {
    const items = listOf((item) => item, Number.POSITIVE_INFINITY)(reply);
    const values: Value[] = [];
    for (let at = 0; at < items.length; at += 2)
      values.push(make(...tuple(first, second)(items.slice(at, at + 2))));
    return values;
  };
}
