// Reads replies: from bytes to texts, from texts to a shape, and from the shapes that the scripts
// return to votes. A reply of another shape is a failure with a reason, and never an exception.

import { maxFenceAt } from '../lock/quorum.ts';
import type {
  AcquireReply,
  ExtendReply,
  Failed,
  ReleaseReply,
  RepairReply,
} from '../lock/types.ts';
import { textOf } from '../text/bytes.ts';
import { failed } from './errors.ts';

/** The deepest lists in the replies of our scripts, and one level more. */
const deepest = 5;

/**
 * Converts a reply of bytes to texts, exact to the byte: texts, numbers, and lists of them.
 * Anything else becomes null, so that no reply is mistaken for an object of ours.
 */
export function textsOf(reply: unknown, depth = deepest): unknown {
  if (reply instanceof Buffer) return textOf(reply);
  if (Array.isArray(reply))
    return depth === 0 ? null : reply.map((item) => textsOf(item, depth - 1));
  return typeof reply === 'string' || typeof reply === 'number' ? reply : null;
}

/** Reads a reply, or a part of it. Called only by `readReply`, which catches what it throws. */
export type Shape<Value> = (reply: unknown) => Value;

type ValueOf<AnyShape> = AnyShape extends Shape<infer Value> ? Value : never;

/** What was expected, and what came instead. */
class Mismatch extends Error {}

/** The content of a reply, or why it has none: `unexpected reply: nil instead of a list`. */
export function readReply<Value>(shape: Shape<Value>, reply: unknown): Value | Failed {
  try {
    return shape(reply);
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    const advice = 'look at what answers there: it is no master, or is changed on the way';
    return failed('reply', `unexpected reply: ${error.message}`, advice);
  }
}

/** A whole number within these bounds, and one that a double holds exactly. */
export function integer(
  min = Number.MIN_SAFE_INTEGER,
  max = Number.MAX_SAFE_INTEGER,
): Shape<number> {
  return (reply) => {
    if (typeof reply !== 'number' || !Number.isSafeInteger(reply))
      return mismatch(reply, 'a whole number');
    return reply < min || reply > max ? mismatch(reply, `a number from ${min} to ${max}`) : reply;
  };
}

export function text(maxChars: number): Shape<string> {
  return (reply) => {
    if (typeof reply !== 'string') return mismatch(reply, 'text');
    return reply.length > maxChars
      ? mismatch(reply, `text of at most ${maxChars} characters`)
      : reply;
  };
}

/** Digits, as Redis writes numbers into keys: the text of `integer`. */
export function decimal(min = 0, max = Number.MAX_SAFE_INTEGER): Shape<number> {
  const bounded = integer(min, max);
  return (reply) => {
    const digits = text(20)(reply);
    return /^-?\d+$/.test(digits) ? bounded(Number(digits)) : mismatch(reply, 'a number in text');
  };
}

export function oneOf<const Value extends string | number>(
  ...values: readonly Value[]
): Shape<Value> {
  return (reply) =>
    values.find((value) => value === reply) ?? mismatch(reply, `one of ${values.join(', ')}`);
}

export function orNull<Value>(shape: Shape<Value>): Shape<Value | null> {
  return (reply) => (reply === null ? null : shape(reply));
}

export function listOf<Value>(shape: Shape<Value>, maxItems: number): Shape<readonly Value[]> {
  return (reply) => {
    const items = list(reply);
    return items.length > maxItems
      ? mismatch(reply, `a list of at most ${maxItems}`)
      : items.map(shape);
  };
}

/** One of each, in this order, and nothing else. */
export function tuple<const Shapes extends readonly Shape<unknown>[]>(
  ...shapes: Shapes
): Shape<{ -readonly [At in keyof Shapes]: ValueOf<Shapes[At]> }> {
  return (reply) => {
    const items = list(reply);
    if (items.length !== shapes.length) return mismatch(reply, `a list of ${shapes.length}`);
    return shapes.map((shape, at) => shape(items[at])) as {
      -readonly [At in keyof Shapes]: ValueOf<Shapes[At]>;
    };
  };
}

/**
 * A flat list of names and values: one of each of these names, and of `optional` those that there
 * are.
 */
export function record<
  Shapes extends Readonly<Record<string, Shape<unknown>>>,
  Optional extends Readonly<Record<string, Shape<unknown>>> = Record<never, never>,
>(shapes: Shapes, optional?: Optional): Shape<FieldsOf<Shapes> & Partial<FieldsOf<Optional>>> {
  const known = new Map(Object.entries({ ...shapes, ...optional }));
  return (reply) => {
    const items = list(reply);
    const fields = new Map<unknown, unknown>();
    for (let at = 0; at < items.length; at += 2) {
      const shape = known.get(items[at] as string);
      if (!shape || fields.has(items[at])) return mismatch(items[at], 'another name');
      fields.set(items[at], shape(items[at + 1]));
    }
    const missing = Object.keys(shapes).find((name) => !fields.has(name));
    if (missing !== undefined) return mismatch(reply, `a list with ${missing}`);
    return Object.fromEntries(fields) as FieldsOf<Shapes> & Partial<FieldsOf<Optional>>;
  };
}

type FieldsOf<Shapes> = { readonly [Name in keyof Shapes]: ValueOf<Shapes[Name]> };

/** A list whose first item decides which of these shapes the rest has. */
export function byFirst<Value>(shapes: Readonly<Record<number, Shape<Value>>>): Shape<Value> {
  return (reply) => {
    const [first, ...rest] = list(reply);
    const shape =
      typeof first === 'number' && Object.hasOwn(shapes, first) ? shapes[first] : undefined;
    return shape
      ? shape(rest)
      : mismatch(first, `a list that begins with one of ${Object.keys(shapes).join(', ')}`);
  };
}

export function as<Read, Value>(shape: Shape<Read>, make: (read: Read) => Value): Shape<Value> {
  return (reply) => make(shape(reply));
}

function list(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : mismatch(reply, 'a list');
}

function mismatch(reply: unknown, wanted: string): never {
  throw new Mismatch(`${named(reply)} instead of ${wanted}`);
}

/** Describes a reply by kind and size, never by content, which may be anything. */
function named(reply: unknown): string {
  if (reply === null || reply === undefined) return 'nil';
  if (Array.isArray(reply)) return `a list of ${reply.length}`;
  if (typeof reply === 'string') return `text of ${reply.length} characters`;
  if (typeof reply === 'number') return `the number ${reply}`;
  return 'something else';
}

/** The bytes of a holder's value that the scripts return at most; a waiter's id is far shorter. */
export const maxReportedBytes = 1_024;
const maxSlots = 100_000;

const acquisition = byFirst<AcquireReply>({
  1: as(tuple(integer(0)), ([fence]) => ({ kind: 'granted', fence })),
  0: as(
    record(
      {
        holder: text(maxReportedBytes),
        remainingMs: orNull(integer(0)),
        position: orNull(integer(0)),
        masterTimeUs: integer(0),
      },
      {
        supersededBy: text(maxReportedBytes),
        freeSlots: listOf(integer(1, maxSlots), maxSlots),
        blockedIndex: integer(0),
      },
    ),
    (fields) => ({ kind: 'refused', ...fields }),
  ),
});

/**
 * `fencedAtMs`: our time of day, for a claim with a fence: a number far beyond it is accepted from
 * no master. null: no fence.
 */
export function acquisitionOf(reply: unknown, fencedAtMs: number | null): AcquireReply {
  const vote = readReply(acquisition, reply);
  if (vote.kind !== 'granted') return vote;
  if (fencedAtMs === null) return { ...vote, fence: null };
  const why =
    'its fencing counter is more than a day ahead of our clock ' +
    '(set the clocks, or delete the counter)';
  return (vote.fence ?? 0) > maxFenceAt(fencedAtMs) ? failed('reply', why) : vote;
}

const extension = byFirst<ExtendReply>({
  1: as(
    record({ masterTimeUs: integer(0) }, { replacedBy: text(maxReportedBytes) }),
    ({ masterTimeUs, ...rest }) => ({
      kind: 'extended',
      masterTimeMs: masterTimeUs / 1000,
      ...rest,
    }),
  ),
  0: as(tuple(), () => ({ kind: 'taken' })),
  [-1]: as(tuple(), () => ({ kind: 'missing' })),
});

export function extensionOf(reply: unknown): ExtendReply {
  return readReply(extension, reply);
}

const repair = as(oneOf(1, 0), (code): RepairReply => ({ kind: code ? 'repaired' : 'taken' }));

/** The older protocol answers as to an extension: a missing key is not repaired there. */
export function repairOf(reply: unknown): RepairReply {
  if (!Array.isArray(reply)) return readReply(repair, reply);
  const vote = extensionOf(reply);
  if (vote.kind === 'failed') return vote;
  return { kind: vote.kind === 'extended' ? 'repaired' : 'taken' };
}

const removals = { 1: 'released', 0: 'taken', [-1]: 'missing' } as const;
const removal = as(oneOf(1, 0, -1), (code): ReleaseReply => ({ kind: removals[code] }));

export function removalOf(reply: unknown): ReleaseReply {
  return readReply(removal, reply);
}
