// Arguments that are not UTF-8. Node replaces their bytes by U+FFFD, so that two names of locks
// could become one, and the command would get other bytes. A word with that character is compared
// with the bytes that the kernel keeps (Linux).

import { readFileSync } from 'node:fs';
import { UsageError } from '../text/errors.ts';
import { quoted } from '../text/foreign-text.ts';

const unknownBytes = '\ufffd';

/**
 * Refuses arguments that are not UTF-8. `argv`: without the program's own name.
 * @throws UsageError
 */
export function checkArgumentBytes(argv: readonly string[]): void {
  if (!argv.some((word) => word.includes(unknownBytes))) return;
  const given = givenArguments()?.slice(-argv.length);
  if (given?.length !== argv.length) return;
  for (const [index, word] of argv.entries()) {
    if (given[index] === Buffer.from(word).toString('latin1')) continue;
    const advice = 'hand it over in a file, or in a script';
    throw new UsageError(
      `argument ${index + 1}: ${quoted(word)}: not UTF-8, so it would be changed (${advice})`,
    );
  }
}

/** The arguments of this process, one character for each byte; null where they cannot be read. */
function givenArguments(): string[] | null {
  try {
    return readFileSync('/proc/self/cmdline', 'latin1').split('\0').slice(0, -1);
  } catch {
    return null;
  }
}
