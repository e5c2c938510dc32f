// What may be the names of a lock, on the command line and in a program: the one place where that is said. Pure. The surprise: nothing is
// said of what is in a name, which may hold any text; whoever shows one quotes it.

import { quoted } from './trouble.ts';

const longestNameBytes = 4096;
const mostNames = 100;

/** What is wrong with them, without saying what they are names of; null: they will do. */
export function objectionToNames(names: readonly string[]): string | null {
  for (const name of names) {
    if (name === '') return '"": empty (give the lock a name)';
    const bytes = Buffer.byteLength(name);
    if (bytes > longestNameBytes) return `${quoted(name)}: ${bytes} bytes long (at most ${longestNameBytes})`;
  }
  if (names.length > mostNames) return `${names.length} names (at most ${mostNames})`;
  const twice = names.find((name, at) => names.indexOf(name) < at);
  return twice === undefined ? null : `${quoted(twice)}: given twice (name each lock once)`;
}
