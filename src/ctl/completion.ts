// `redlockctl completion SHELL` prints a script for the shell. `completion words -- PROGRAM
// WORD...` is what that script calls: it prints the candidates for the last word, one a line, each
// with a description behind a tab, or one line that says what the shell has to look up: files or
// commands. A failure prints nothing. It is not a library, because the one that exists has the
// shell evaluate the words that were typed.

import { basename } from 'node:path';
import {
  type GivenOptions,
  optionSpelt,
  readOptions,
  readOptionValues,
} from '../config/arguments.ts';
import type { ExecutionContext } from '../config/execution-context.ts';
import { kindOf, type OptionRow, optionTable, settingKeys } from '../config/setting-table.ts';
import type { Clock } from '../lock/ports.ts';
import { UsageError } from '../text/errors.ts';
import { oneLine, quoted } from '../text/foreign-text.ts';
import { scripts } from './completion-scripts.ts';
import { MasterQuery } from './master-query.ts';
import { isPattern, literal } from './names.ts';
import { readSettings } from './settings.ts';
import { allOptions, operandCounts, sharedOptions, verbTable } from './verb-table.ts';

interface Candidate {
  readonly word: string;
  /** A description; may be empty. */
  readonly text: string;
}

/** names: of locks; commands: what the shell can run. */
type Lookup = 'names' | 'commands' | 'files';

/** `args`: those after the program's name; the last one is to be completed, and may be empty. */
export function candidatesFor(
  program: string,
  args: readonly string[],
): readonly Candidate[] | Lookup {
  const isRun = program === 'redlock-run';
  const { operands, pending, commandLength } = read(tableOf(program), args.slice(0, -1));
  if (pending !== null) return pending.argument === 'FILE' ? 'files' : plain(choicesOf(pending));
  const isOption = (args.at(-1) ?? '').startsWith('-') && commandLength === null;
  if (isRun && commandLength !== null) return commandLength === 0 ? 'commands' : 'files';
  if (isRun && operands.length > 1) return 'files';
  if (isRun && isOption) return described(optionTable);
  if (isRun) return operands.length === 0 ? 'names' : 'commands';
  const [verb] = operands;
  const row = verbTable.find((one) => one.verb === verb);
  if (isOption) return described([...(row?.options ?? []), ...sharedOptions]);
  if (operands.length === 0 || (verb === 'help' && operands.length === 1))
    return verbTable.map(({ verb: word, summary: text }) => ({ word, text }));
  if (row === undefined || operands.length > operandCounts(row).max) return [];
  if (row.operands.includes('|'))
    return operands.length === 1 ? plain(row.operands.split('|')) : [];
  return /NAME|PATTERN/.test(row.operands) ? 'names' : [];
}

function tableOf(program: string): readonly OptionRow[] {
  return program === 'redlock-run' ? optionTable : allOptions;
}

/** The values of an option that has few. */
function choicesOf({ key }: OptionRow): readonly string[] {
  const known = settingKeys.find((one) => one === key);
  return (known && kindOf(known).choices) ?? [];
}

/**
 * The words typed so far. `pending`: the option whose value comes next; `commandLength`: how many
 * arguments are behind a `--`; null: there is none.
 */
function read(rows: readonly OptionRow[], args: readonly string[]) {
  const operands: string[] = [];
  let pending: OptionRow | null = null;
  for (const [index, word] of args.entries()) {
    if (pending !== null) pending = null;
    else if (word === '--') {
      const rest = args.slice(index + 1);
      return { operands: [...operands, ...rest], pending, commandLength: rest.length };
    } else if (word.startsWith('-')) {
      const row = optionSpelt(rows, word);
      pending = row?.argument === undefined ? null : row;
    } else operands.push(word);
  }
  return { operands, pending, commandLength: null };
}

function described(rows: readonly OptionRow[]): Candidate[] {
  return rows.map(({ long, description }) => ({ word: long, text: description }));
}

function plain(words: readonly string[]): Candidate[] {
  return words.map((word) => ({ word, text: '' }));
}

/** Before what the shell has to look up by itself. No candidate has a control character. */
const lookupMark = '\x01';
/** More words than this are of no use. */
const maxWords = 10_000;

/** The text to print. @throws UsageError */
export async function completion(
  operands: readonly string[],
  around: ExecutionContext,
  clock: Clock,
): Promise<string> {
  const [shell = '', ...args] = operands;
  if (shell === 'words') return completeWords(args, around, clock);
  const script = scripts[shell];
  if (script === undefined)
    throw new UsageError(`completion: ${quoted(shell)}: unknown shell (write bash, zsh or fish)`);
  if (args[0] !== undefined)
    throw new UsageError(
      `completion: ${quoted(args[0])}: unexpected argument (write redlockctl completion ${shell})`,
    );
  return script;
}

async function completeWords(
  [path = '', ...args]: readonly string[],
  around: ExecutionContext,
  clock: Clock,
): Promise<string> {
  const program = basename(path);
  const found = candidatesFor(program, args);
  if (found === 'commands' || found === 'files') return `${lookupMark}${found}\n`;
  const candidates =
    found === 'names'
      ? plain(await namesOf(args.slice(0, -1), program, around, clock).catch(() => []))
      : found;
  const current = args.at(-1) ?? '';
  // A name with a line break or a control character in it cannot be completed.
  return candidates
    .filter(({ word }) => word.startsWith(current) && oneLine(word) === word)
    .slice(0, maxWords)
    .map(({ word, text }) => `${text === '' ? word : `${word}\t${text}`}\n`)
    .join('');
}

/** The names of the locks that exist, on the masters that these words would lead to. */
async function namesOf(
  args: readonly string[],
  program: string,
  around: ExecutionContext,
  clock: Clock,
): Promise<string[]> {
  const given = new Map() as GivenOptions;
  readOptions(tableOf(program), given, args);
  const shared = [...given].filter(([long]) => sharedOptions.some((row) => row.long === long));
  // A configuration file in this directory or above may be another user's, and pressing a key is no
  // consent to use it.
  const settings = await readSettings(readOptionValues(new Map(shared)), {
    ...around,
    searchesParents: false,
  });
  const query = await MasterQuery.of(settings, clock);
  const names = await query.names('*', settings.masterTimeoutMs);
  const mayBePattern = program === 'redlock-run' || given.has(literal);
  // The shell would insert a name with a dash as an option.
  return names.filter((name) => !name.startsWith('-') && (mayBePattern || !isPattern(name)));
}
