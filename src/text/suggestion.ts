// The known word that is nearest to a misspelt one. A wild guess is worse than none, so it may find
// none.

/**
 * The candidate with the fewest edits to `word`; null when it needs more than `maxEdits`, or more
 * than a third of the letters of the longer one.
 */
export function nearest(
  word: string,
  candidates: readonly string[],
  maxEdits = Number.POSITIVE_INFINITY,
): string | null {
  let best: string | null = null;
  let fewest = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const edits = editsBetween(word.toLowerCase(), candidate.toLowerCase());
    const limit = Math.min(maxEdits, Math.max(word.length, candidate.length) / 3);
    if (edits < fewest && edits <= limit) {
      best = candidate;
      fewest = edits;
    }
  }
  return best;
}

/** Insertions, deletions, replacements and swaps of neighbours: optimal string alignment. */
function editsBetween(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > 20) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const replaced = at(last, column - 1) + (same ? 0 : 1);
      const swapped =
        from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
          ? at(beforeLast, column - 2) + 1
          : Number.POSITIVE_INFINITY;
      current.push(Math.min(at(last, column) + 1, at(current, column - 1) + 1, replaced, swapped));
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

function at(numbers: readonly number[], index: number): number {
  return numbers[index] ?? Number.POSITIVE_INFINITY;
}
