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
import { defaultLimits, MasterQuery } from './master-query.ts';
import { isPattern, literal } from './names.ts';
import { readSettings } from './settings.ts';
import {
  allOptions,
  operandCounts,
  sharedOptions,
  type VerbOption,
  verbTable,
} from './verb-table.ts';

export interface Candidate {
  readonly word: string;
  /** A description; may be empty. */
  readonly text: string;
}

/** names: of locks; commands: what the shell can run. */
export type Lookup = 'names' | 'commands' | 'files';

/** `args`: those after the program's name; the last one is to be completed, and may be empty. */
export function candidatesFor(
  program: string,
  args: readonly string[],
): readonly Candidate[] | Lookup {
  const rows = program === 'redlock-run' ? optionTable : allOptions;
  const { operands, pending, commandLength } = read(rows, args.slice(0, -1));
  const isOver = commandLength !== null;
  if (pending !== null) return pending.argument === 'FILE' ? 'files' : plain(choicesOf(pending));
  const isOption = (args.at(-1) ?? '').startsWith('-') && !isOver;
  if (program === 'redlock-run') {
    if (commandLength !== null) return commandLength === 0 ? 'commands' : 'files';
    if (operands.length > 1) return 'files';
    if (isOption) return options(optionTable);
    return operands.length === 0 ? 'names' : 'commands';
  }
  const verb = verbTable.find((row) => row.verb === operands[0]);
  if (isOption) return options([...(verb?.options ?? []), ...sharedOptions]);
  if (operands.length === 0 || (operands[0] === 'help' && operands.length === 1))
    return verbTable.map((row) => ({ word: row.verb, text: row.summary }));
  if (verb === undefined || operands.length > operandCounts(verb).max) return [];
  if (verb.operands.includes('|'))
    return operands.length === 1 ? plain(verb.operands.split('|')) : [];
  return /NAME|PATTERN/.test(verb.operands) ? 'names' : [];
}

/** The values of an option that has few. */
function choicesOf({ key }: OptionRow): readonly string[] {
  const known = settingKeys.find((one) => one === key);
  return (known && kindOf(known).choices) ?? [];
}

interface Reading {
  readonly operands: readonly string[];
  /** The option whose value comes next. */
  readonly pending: OptionRow | null;
  /** How many arguments stand behind a `--`; null: there is none. */
  readonly commandLength: number | null;
}

function read(rows: readonly OptionRow[], args: readonly string[]): Reading {
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

function options(rows: readonly VerbOption[]): Candidate[] {
  return rows.map(({ long, description }) => ({ word: long, text: description }));
}

function plain(args: readonly string[]): Candidate[] {
  return args.map((word) => ({ word, text: '' }));
}

/** Before what the shell has to look up by itself. No candidate has a control character. */
const lookupMark = '\x01';
/** More names than this are of no use for completion. */
const maxNames = 10_000;

/** The text to print. @throws UsageError */
export async function completion(
  operands: readonly string[],
  around: ExecutionContext,
  clock: Clock,
): Promise<string> {
  const [shell = '', ...args] = operands;
  if (shell === 'words') {
    const found = await candidates(args, around, clock);
    return typeof found === 'string' ? `${lookupMark}${found}\n` : render(found);
  }
  const script = scripts[shell];
  if (script === undefined)
    throw new UsageError(`completion: ${quoted(shell)}: unknown shell (write bash, zsh or fish)`);
  if (args[0] !== undefined)
    throw new UsageError(
      `completion: ${quoted(args[0])}: unexpected argument (write redlockctl completion ${shell})`,
    );
  return script;
}

async function candidates(
  [path = '', ...args]: readonly string[],
  around: ExecutionContext,
  clock: Clock,
): Promise<readonly Candidate[] | Lookup> {
  const program = basename(path);
  const current = args.at(-1) ?? '';
  const asked = candidatesFor(program, args);
  if (asked === 'commands' || asked === 'files') return asked;
  if (asked !== 'names') return asked.filter(({ word }) => word.startsWith(current));
  const names = await namesOf(args.slice(0, -1), program, around, clock).catch(() => []);
  return names.filter((name) => name.startsWith(current)).map((word) => ({ word, text: '' }));
}

/** The names of the locks that exist, on the masters that these words would lead to. */
async function namesOf(
  args: readonly string[],
  program: string,
  around: ExecutionContext,
  clock: Clock,
): Promise<string[]> {
  const given = new Map() as GivenOptions;
  readOptions(program === 'redlock-run' ? optionTable : allOptions, given, args);
  const shared = [...given].filter(([long]) => sharedOptions.some((row) => row.long === long));
  // A configuration file in this directory or above may be another user's, and pressing a key is no
  // consent to use it.
  const settings = await readSettings(readOptionValues(new Map(shared)), {
    ...around,
    searchesParents: false,
  });
  const ms = settings.masterTimeoutMs;
  const limits = { ...defaultLimits(ms), totalMs: ms, namesMs: ms, nameCount: maxNames };
  const query = await MasterQuery.of(settings, clock, limits);
  const names = await query.names('*');
  const mayBePattern = program === 'redlock-run' || given.has(literal);
  // The shell would insert a name with a dash as an option.
  return names.filter((name) => !name.startsWith('-') && (mayBePattern || !isPattern(name)));
}

/** A name with a line break or a control character in it cannot be completed. */
function render(found: readonly Candidate[]): string {
  const lines = found
    .filter(({ word }) => oneLine(word) === word)
    .map(({ word, text }) => (text === '' ? word : `${word}\t${text}`));
  return lines.map((line) => `${line}\n`).join('');
}
