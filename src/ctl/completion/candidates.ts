// The candidates for the last word of a command line of redlock-run or redlockctl. Pure; names of
// locks are looked up by the caller; commands and files by the shell, in the places where they
// belong.

import { type OptionRow, optionTable } from '../../config/options.ts';
import { allOptions, sharedOptions, type VerbOption, verbTable } from '../verb-table.ts';

export interface Candidate {
  readonly word: string;
  /** A description; may be empty. */
  readonly text: string;
}

const shells = ['bash', 'zsh', 'fish'];
const localVerbs = ['start', 'stop', 'status'];
const values: Readonly<Record<string, readonly string[]>> = {
  '--log-format': ['text', 'json'],
  '--signal': ['TERM', 'INT', 'HUP', 'QUIT', 'KILL', 'USR1', 'USR2'],
};

/** names: of locks; commands: what the shell can run. */
export type Lookup = 'names' | 'commands' | 'files';

/** `words`: those after the program's name; the last one is to be completed, and may be empty. */
export function candidatesFor(
  program: string,
  words: readonly string[],
): readonly Candidate[] | Lookup {
  const rows = program === 'redlock-run' ? optionTable : allOptions;
  const { operands, pending, commandLength } = read(rows, words.slice(0, -1));
  const isOver = commandLength !== null;
  if (pending !== null)
    return pending.argument === 'FILE' ? 'files' : plain(values[pending.long] ?? []);
  const isOption = (words.at(-1) ?? '').startsWith('-') && !isOver;
  if (program === 'redlock-run') {
    if (commandLength !== null) return commandLength === 0 ? 'commands' : 'files';
    if (operands.length > 1) return 'files';
    if (isOption) return options(optionTable);
    return operands.length === 0 ? 'names' : 'commands';
  }
  const verb = verbTable.find((row) => row.verb === operands[0]);
  if (isOption) return options([...(verb?.options ?? []), ...sharedOptions]);
  if (operands.length === 0) return verbTable.map((row) => ({ word: row.verb, text: row.summary }));
  if (verb === undefined || operands.length > verb.most) return [];
  switch (verb.verb) {
    case 'status':
    case 'wait':
    case 'stop':
    case 'break':
    case 'freeze':
    case 'thaw':
    case 'list':
    case 'history':
      return 'names';
    case 'local':
      return plain(localVerbs);
    case 'completion':
      return operands.length === 1 ? plain(shells) : [];
    default:
      return [];
  }
}

interface Reading {
  readonly operands: readonly string[];
  /** The option whose value comes next. */
  readonly pending: OptionRow | null;
  /** How many words stand behind a `--`; null: there is none. */
  readonly commandLength: number | null;
}

function read(rows: readonly OptionRow[], words: readonly string[]): Reading {
  const operands: string[] = [];
  let pending: OptionRow | null = null;
  for (const [index, word] of words.entries()) {
    if (pending !== null) pending = null;
    else if (word === '--') {
      const rest = words.slice(index + 1);
      return { operands: [...operands, ...rest], pending, commandLength: rest.length };
    } else if (word.startsWith('-')) {
      const row = rows.find(({ long, short, aliases = [] }) =>
        [long, short, ...aliases].includes(word),
      );
      pending = row?.argument === undefined ? null : row;
    } else operands.push(word);
  }
  return { operands, pending, commandLength: null };
}

function options(rows: readonly VerbOption[]): Candidate[] {
  return rows.map(({ long, description }) => ({ word: long, text: description }));
}

function plain(words: readonly string[]): Candidate[] {
  return words.map((word) => ({ word, text: '' }));
}
