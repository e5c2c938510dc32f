// Converts a reply of bytes to texts, exact to the byte: texts, numbers, and lists of them.
// Anything else becomes null, so that no reply is mistaken for an object of ours.

import { textOf } from '../text/bytes.ts';

/** The deepest lists in the replies of our scripts, and one level more. */
const deepest = 5;

export function textsOf(reply: unknown, depth = deepest): unknown {
  if (reply instanceof Buffer) return textOf(reply);
  if (Array.isArray(reply))
    return depth === 0 ? null : reply.map((item) => textsOf(item, depth - 1));
  return typeof reply === 'string' || typeof reply === 'number' ? reply : null;
}
