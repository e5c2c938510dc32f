// A reply in bytes as one in texts, exact to the byte: lists in lists of texts and numbers.
// Whatever else a reply may be is null, so that nothing which a server sends is taken for an object
// of ours.

import { textOf } from '../text/bytes.ts';

/** Lists of lists that a script of ours answers with, and one more. */
const deepest = 5;

export function textsOf(reply: unknown, depth = deepest): unknown {
  if (reply instanceof Buffer) return textOf(reply);
  if (Array.isArray(reply))
    return depth === 0 ? null : reply.map((item) => textsOf(item, depth - 1));
  return typeof reply === 'string' || typeof reply === 'number' ? reply : null;
}
