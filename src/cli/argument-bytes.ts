// Arguments that are no text in UTF-8. Node hands words over as text, and what is none arrives changed, so that two names of locks
// could become one, and the command get other bytes than it was given. The surprise: nobody can see that from the words, so where
// one holds the sign that stands for unknown bytes, it is compared with what the kernel keeps (Linux).

import { readFileSync } from 'node:fs';
import { quoted, UsageError } from './trouble.ts';

const unknown = '\ufffd';

/** `argv` is what stands behind the program's name, as Node hands it over. @throws UsageError */
export function checkArgumentBytes(argv: readonly string[]): void {
  if (!argv.some((word) => word.includes(unknown))) return;
  const given = givenWords()?.slice(-argv.length);
  if (given?.length !== argv.length) return;
  for (const [index, word] of argv.entries()) {
    if (given[index] === Buffer.from(word).toString('latin1')) continue;
    throw new UsageError(
      `argument ${index + 1}: ${quoted(word)}: not UTF-8, so it would be changed on its way (hand it over in a file, or in a script)`,
    );
  }
}

/** All words of this process, a character for each byte; null where they cannot be read. */
function givenWords(): string[] | null {
  try {
    return readFileSync('/proc/self/cmdline', 'latin1').split('\0').slice(0, -1);
  } catch {
    return null;
  }
}
