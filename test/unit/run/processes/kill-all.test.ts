// When a tree that is being killed counts as ended, by what one look after the other shows. A chain
// of forks hides from single looks: each link has ended before it is seen.

import { expect, it } from 'vitest';
import { killAll } from '../../../../src/run/processes/kill-all.ts';

/** The looks, each with all that it shows; a capital letter is alive. */
const rows: readonly [title: string, looks: readonly string[]][] = [
  ['nothing there, three times', ['', '', '']],
  ['three looks agree that all have ended', ['A', 'a', 'a', 'a']],
  ['one that was not seen before has ended already', ['A', 'a', 'a', 'ab', 'ab', 'ab', 'ab']],
  ['the next link is alive at last', ['a', 'a', 'ab', 'ab', 'abC', 'abc', 'abc', 'abc']],
];

it.each(rows)('%s', async (_, looks) => {
  let count = 0;
  const unkillable = await killAll(
    () => {
      const shown = [...(looks[count] ?? 'too many looks')];
      count += 1;
      const keys = new Set(shown.map((letter) => letter.toLowerCase()));
      const alive = shown.filter((letter) => letter !== letter.toLowerCase());
      const living = alive.map((key) => ({ pid: 0, key, entry: null, parent: null }));
      return { keys, living };
    },
    () => true,
  );
  expect(count).toBe(looks.length);
  expect(unkillable).toEqual([]);
});
