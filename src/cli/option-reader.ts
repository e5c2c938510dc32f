// Options of a table, read by commander: what was given, by long name, and which words are left. Used by both programs. The
// surprise: commander neither prints nor exits here; what it would say becomes an error of ours with one line.

import { Command, CommanderError, Option } from 'commander';
import type { GivenOptions } from './flags.ts';
import type { OptionRow } from './option-table.ts';
import { quoted, UsageError } from './trouble.ts';

/** A commander program that writes what it meets into `given`, by the long name of the option that an alias stands for. */
export function createProgram(rows: readonly OptionRow[], given: GivenOptions): Command {
  const program = new Command().exitOverride().helpOption(false);
  program.configureOutput({ writeOut: () => {}, writeErr: () => {} });
  for (const row of rows) {
    const spellings = [row.short === undefined ? row.long : `${row.short}, ${row.long}`];
    for (const flags of [...spellings, ...(row.aliases ?? []), ...(row.hiddenAliases ?? [])]) {
      const option = new Option(row.argument === undefined ? flags : `${flags} <${row.argument}>`);
      program.addOption(row.hiddenAliases?.includes(flags) ? option.hideHelp() : option);
      program.on(`option:${option.name()}`, (value?: string) => given.set(row.long, collect(row, given, value)));
    }
  }
  return program;
}

function collect(row: OptionRow, given: GivenOptions, value?: string): string | true | string[] {
  if (value === undefined) return true;
  const earlier = given.get(row.long);
  return row.repeatable ? [...(Array.isArray(earlier) ? earlier : []), value] : value;
}

/**
 * What is left of the words when the options are taken out.
 * @throws UsageError for an option without its value
 */
export function parse(program: Command, words: string[]): { operands: string[]; unknown: string[] } {
  try {
    return program.parseOptions(words);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const [, option = 'option', argument = ''] = /'[^']*?(--[a-z-]+) <(\w+)>'/.exec(error.message) ?? [];
    throw new UsageError(`${option}: no value (write ${option} ${argument})`);
  }
}

/** The error for a word that looks like an option and is none of these. */
export function unknownOption(rows: readonly OptionRow[], word: string): UsageError {
  const flag = word.replace(/=.*$/s, '');
  if (rows.some((row) => row.long === flag)) return new UsageError(`${flag}: takes no value (write ${flag})`);
  let suggestion = 'see --help';
  try {
    createProgram(rows, new Map()).parse([flag], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    suggestion = /\(D(id you mean .*\?)\)$/s.exec(error.message)?.[1]?.replace(/^/, 'd') ?? suggestion;
  }
  return new UsageError(`${quoted(flag)}: unknown option (${suggestion})`);
}
