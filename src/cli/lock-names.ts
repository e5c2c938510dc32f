// What may be the names of a lock, on the command line and in a program: the one place where that
// is said. A name may hold nearly any text, so it is quoted wherever it is shown.

import { looksLikeHelper } from '../redis/keys.ts';
import { quoted } from './trouble.ts';

const longestNameBytes = 4096;
const mostNames = 100;

/** What is wrong with them, without saying what they are names of; null: they will do. */
export function objectionToNames(names: readonly string[]): string | null {
  for (const name of names) {
    if (name === '') return '"": empty (give the lock a name)';
    if (looksLikeHelper(name)) {
      return `${quoted(name)}: is called like what the masters keep beside a lock (take another name)`;
    }
    const bytes = Buffer.byteLength(name);
    if (bytes > longestNameBytes) return `${quoted(name)}: ${bytes} bytes long (at most ${longestNameBytes})`;
  }
  if (names.length > mostNames) return `${names.length} names (at most ${mostNames})`;
  const twice = names.find((name, at) => names.indexOf(name) < at);
  return twice === undefined ? null : `${quoted(twice)}: given twice (name each lock once)`;
}
