// `redlockctl completion SHELL` prints a script for the shell. `completion words -- PROGRAM
// WORD...` is what that script calls: it prints the candidates for the last word, one a line, each
// with a description behind a tab, or one line that says what the shell has to look up: files or
// commands. A failure prints nothing. It is not a library, because the one
// that exists has the shell evaluate the words that were typed.

import { basename } from 'node:path';
import { type GivenOptions, readFlags, readOptions } from '../../config/arguments.ts';
import { optionTable } from '../../config/options.ts';
import type { ExecutionContext } from '../../config/sources.ts';
import type { Clock } from '../../lock/ports.ts';
import { UsageError } from '../../text/errors.ts';
import { oneLine } from '../../text/printable.ts';
import { quoted } from '../../text/quote.ts';
import { MasterQuery } from '../master-query.ts';
import { readSettings } from '../settings.ts';
import { allOptions, sharedOptions } from '../verb-table.ts';
import { type Candidate, candidatesFor, type Lookup } from './candidates.ts';
import { scripts } from './scripts.ts';

/** Before what the shell has to look up by itself. No candidate has a control character. */
const lookupMark = '\x01';
/** More names than this are of no use for completion. */
const mostNames = 10_000;

/** The text to print. @throws UsageError */
export async function completion(
  operands: readonly string[],
  around: ExecutionContext,
  clock: Clock,
): Promise<string> {
  const [shell = '', ...words] = operands;
  if (shell === 'words') {
    const found = await candidates(words, around, clock);
    return typeof found === 'string' ? `${lookupMark}${found}\n` : render(found);
  }
  const script = scripts[shell];
  if (script === undefined)
    throw new UsageError(`completion: ${quoted(shell)}: unknown shell (write bash, zsh or fish)`);
  if (words[0] !== undefined)
    throw new UsageError(
      `completion: ${quoted(words[0])}: one word too many (write redlockctl completion ${shell})`,
    );
  return script;
}

async function candidates(
  [path = '', ...words]: readonly string[],
  around: ExecutionContext,
  clock: Clock,
): Promise<readonly Candidate[] | Lookup> {
  const program = basename(path);
  const current = words.at(-1) ?? '';
  const asked = candidatesFor(program, words);
  if (asked === 'commands' || asked === 'files') return asked;
  if (asked !== 'names') return asked.filter(({ word }) => word.startsWith(current));
  const names = await namesOf(words.slice(0, -1), program, around, clock).catch(() => []);
  return names.filter((name) => name.startsWith(current)).map((word) => ({ word, text: '' }));
}

/** The names of the locks that exist, on the masters that these words would lead to. */
async function namesOf(
  words: readonly string[],
  program: string,
  around: ExecutionContext,
  clock: Clock,
): Promise<string[]> {
  const given = new Map() as GivenOptions;
  readOptions(program === 'redlock-run' ? optionTable : allOptions, given, words);
  const shared = [...given].filter(([long]) => sharedOptions.some((row) => row.long === long));
  // A configuration file in this directory or above may be another user's, and pressing a key is no
  // consent to use it.
  const settings = await readSettings(readFlags(new Map(shared)), {
    ...around,
    searchesParents: false,
  });
  const ms = settings.masterTimeoutMs;
  const limits = { answerMs: ms, totalMs: ms, namesMs: ms, nameCount: mostNames };
  const query = await MasterQuery.of(settings, clock, limits);
  const names = await query.names('*');
  // The shell would insert such a name as an option.
  return names.filter((name) => !name.startsWith('-'));
}

/** A name with a line break or a control character in it cannot be completed. */
function render(found: readonly Candidate[]): string {
  const lines = found
    .filter(({ word }) => oneLine(word) === word)
    .map(({ word, text }) => (text === '' ? word : `${word}\t${text}`));
  return lines.map((line) => `${line}\n`).join('');
}
