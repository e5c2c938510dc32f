// Readers of replies by shape, which can be combined. A reply of another shape is a failure, and
// never an exception. The only place where `unknown` gets a type. It knows no commands.

import type { Failed } from '../lock/types.ts';
import { failed } from './errors.ts';

/** Reads a reply, or a part of it. Called only by `readReply`, which catches what it throws. */
export type Shape<Value> = (reply: unknown) => Value;

type ValueOf<AnyShape> = AnyShape extends Shape<infer Value> ? Value : never;

/** Says what was wanted and what came instead. */
class Mismatch extends Error {}

/** The content of a reply, or why it has none: `unexpected reply: nil instead of a list`. */
export function readReply<Value>(shape: Shape<Value>, reply: unknown): Value | Failed {
  try {
    return shape(reply);
  } catch (error) {
    if (error instanceof Mismatch) return failed('reply', `unexpected reply: ${error.message}`);
    throw error;
  }
}

/** A whole number within these bounds, and one that a double holds exactly. */
export function integer(
  least = Number.MIN_SAFE_INTEGER,
  most = Number.MAX_SAFE_INTEGER,
): Shape<number> {
  return (reply) => {
    if (typeof reply !== 'number' || !Number.isSafeInteger(reply))
      return mismatch(reply, 'a whole number');
    if (reply < least || reply > most) return mismatch(reply, `a number from ${least} to ${most}`);
    return reply;
  };
}

/** Text of at most so many characters. */
export function text(mostChars: number): Shape<string> {
  return (reply) => {
    if (typeof reply !== 'string') return mismatch(reply, 'text');
    if (reply.length > mostChars) return mismatch(reply, `text of at most ${mostChars} characters`);
    return reply;
  };
}

/** Digits, as Redis writes numbers into keys: the text of `integer`. */
export function decimal(least = 0, most = Number.MAX_SAFE_INTEGER): Shape<number> {
  const bounded = integer(least, most);
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

/** nil, or what the shape says. */
export function orNull<Value>(shape: Shape<Value>): Shape<Value | null> {
  return (reply) => (reply === null ? null : shape(reply));
}

/** So many of one kind at most. */
export function listOf<Value>(shape: Shape<Value>, mostItems: number): Shape<readonly Value[]> {
  return (reply) => {
    const items = list(reply);
    if (items.length > mostItems) return mismatch(reply, `a list of at most ${mostItems}`);
    return items.map(shape);
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

/** A list whose first item says which of these shapes the whole has. */
export function byFirst<Value>(shapes: Readonly<Record<number, Shape<Value>>>): Shape<Value> {
  return (reply) => {
    const [first] = list(reply);
    const shape =
      typeof first === 'number' && Object.hasOwn(shapes, first) ? shapes[first] : undefined;
    return shape
      ? shape(reply)
      : mismatch(first, `a list that begins with one of ${Object.keys(shapes).join(', ')}`);
  };
}

/** What another shape makes of it. */
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
