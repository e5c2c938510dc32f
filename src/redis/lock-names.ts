// The names that a lock may have: nearly any text that could not be taken for a key beside a lock.

import { quoted } from '../text/foreign-text.ts';
import { looksLikeHelper } from './keys.ts';

const maxNameBytes = 4096;
const maxNames = 100;

/**
 * What is wrong with these names of locks, of the command line or of a program; null: nothing. A
 * name may be nearly any text.
 */
export function mistakeInNames(names: readonly string[]): string | null {
  for (const name of names) {
    if (name === '') return '"": empty (give the lock a name)';
    if (looksLikeHelper(name)) {
      const why = 'is called like what the masters keep beside a lock (take another name)';
      return `${quoted(name)}: ${why}`;
    }
    const bytes = Buffer.byteLength(name);
    if (bytes > maxNameBytes)
      return `${quoted(name)}: ${bytes} bytes long (at most ${maxNameBytes})`;
  }
  if (names.length > maxNames) return `${names.length} names (at most ${maxNames})`;
  const twice = names.find((name, at) => names.indexOf(name) < at);
  return twice === undefined ? null : `${quoted(twice)}: given twice (name each lock once)`;
}
