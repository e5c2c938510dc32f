// The words of the command line, taken apart: options, NAMEs, command. Values stay texts; settings.ts reads them together with
// environment and file. Pure: no exit, no printing. The surprise: everything right of the first `--` is cut off before
// commander sees anything, and without `--` commander runs twice, up to NAME and from there up to COMMAND, because left to
// itself it would hand `--ttl` to the command or take the command's own -n for ours.

import { type Flags, type GivenOptions, readFlags, textOf } from './flags.ts';
import { renderHelp } from './help.ts';
import { renderVersion } from './help-layout.ts';
import { objectionToNames } from './lock-names.ts';
import { createProgram, parse, unknownOption } from './option-reader.ts';
import { optionTable } from './option-table.ts';
import { quoted, UsageError } from './trouble.ts';

export interface PrintWords {
  readonly kind: 'print';
  /** For stdout, ends with a newline. */
  readonly text: string;
}

export interface RunWords {
  readonly kind: 'run';
  /** At least one, none twice. */
  readonly names: readonly string[];
  /** argv of the command; never empty. */
  readonly command: readonly string[];
  readonly dryRun: boolean;
  readonly flags: Flags;
}

export type Words = PrintWords | RunWords;

/**
 * Takes `argv` (without the program's own name) apart.
 * @throws UsageError
 */
export function parseWords(argv: readonly string[]): Words {
  const cut = argv.indexOf('--');
  const given = new Map() as GivenOptions;
  const left = cut < 0 ? [...argv] : argv.slice(0, cut);
  const { names, command, unknown } = cut < 0 ? readUntilCommand(left, given) : readNames(left, given);
  if (given.has('--help')) return { kind: 'print', text: renderHelp() };
  if (given.has('--version')) return { kind: 'print', text: renderVersion('redlock-run') };
  if (unknown !== undefined) throw unknownOption(optionTable, unknown);
  const words = cut < 0 ? command : argv.slice(cut + 1);
  const flags = readFlags(given);
  return {
    kind: 'run',
    names: checked(names),
    command: commandOf(given, words),
    dryRun: given.has('--dry-run'),
    flags,
  };
}

interface Reading {
  readonly names: readonly string[];
  readonly command: readonly string[];
  readonly unknown: string | undefined;
}

function readUntilCommand(words: string[], given: GivenOptions): Reading {
  const program = createProgram(optionTable, given).passThroughOptions();
  const first = parse(program, words);
  const [name, ...rest] = first.operands;
  const second = name === undefined ? first : parse(program, rest);
  return {
    names: name === undefined ? [] : [name],
    command: second.operands,
    unknown: first.unknown[0] ?? second.unknown[0],
  };
}

function readNames(words: string[], given: GivenOptions): Reading {
  const { operands, unknown } = parse(createProgram(optionTable, given), words);
  return { names: operands, command: [], unknown: unknown[0] };
}

function checked(names: readonly string[]): readonly string[] {
  if (names.length === 0)
    throw new UsageError('NAME: missing (write redlock-run [options] NAME... -- COMMAND; see --help)');
  const objection = objectionToNames(names);
  if (objection !== null) throw new UsageError(`NAME: ${objection}`);
  return names;
}

function commandOf(given: Readonly<GivenOptions>, words: readonly string[]): readonly string[] {
  const script = textOf(given.get('--command'));
  if (script === null) {
    if (words.length > 0) return words;
    throw new UsageError('COMMAND: missing (write redlock-run [options] NAME... -- COMMAND; see --help)');
  }
  if (words[0] !== undefined) {
    throw new UsageError(`--command: with COMMAND ${quoted(words[0])}: contradict each other (leave one out)`);
  }
  return ['/bin/sh', '-c', script];
}
