// Parses the command line into options, NAMEs and the command. Values stay texts; settings.ts reads
// them together with environment and file. Errors of commander become UsageErrors of one line.
// *Note:* everything after the first `--` is cut off before commander sees it. Without `--`,
// commander runs twice, up to NAME and from there up to COMMAND. A single run would hand `--ttl` to
// the command, or take an -n of the command for an option of redlock-run.

import { Command, CommanderError, Option } from 'commander';
import { mistakeInNames } from '../redis/keys.ts';
import { UsageError } from '../text/errors.ts';
import { quoted } from '../text/foreign-text.ts';
import { nearest } from '../text/suggestion.ts';
import { parseDuration } from '../text/time.ts';
import { type Given, type Layer, urlMasters } from './layer.ts';
import { isScalarKey, type OptionRow, optionTable, type ScalarKey } from './setting-table.ts';
import { readOption } from './values.ts';

/** A command line that only asks for text. */
export type PrintArguments = { readonly kind: 'help' } | { readonly kind: 'version' };

export interface RunArguments {
  readonly kind: 'run';
  /** At least one, none twice. */
  readonly names: readonly string[];
  /** argv of the command; never empty. */
  readonly command: readonly string[];
  /** Whether `--` precedes the command. */
  readonly isSeparated: boolean;
  readonly dryRun: boolean;
  readonly options: OptionValues;
}

export type Arguments = PrintArguments | RunArguments;

/**
 * Parses `argv`, without the program's own name.
 * @throws UsageError
 */
export function parseArguments(argv: readonly string[]): Arguments {
  const cut = argv.indexOf('--');
  const isSeparated = cut >= 0;
  const given = new Map() as GivenOptions;
  const program = createProgram(optionTable, given).passThroughOptions(!isSeparated);
  const first = parse(program, isSeparated ? argv.slice(0, cut) : argv);
  const names = isSeparated ? first.operands : first.operands.slice(0, 1);
  const second = isSeparated ? null : parse(program, first.operands.slice(1));
  if (given.has('--help')) return { kind: 'help' };
  if (given.has('--version')) return { kind: 'version' };
  const unknown = first.unknown[0] ?? second?.unknown[0];
  if (unknown !== undefined) throw unknownOption(optionTable, unknown);
  if (names.length === 0) refuseNames(given);
  const options = readOptionValues(given);
  return {
    kind: 'run',
    names: checkNames(names),
    command: commandOf(given, second?.operands ?? argv.slice(cut + 1), names),
    isSeparated,
    dryRun: given.has('--dry-run'),
    options,
  };
}

function checkNames(names: readonly string[]): readonly string[] {
  if (names.length === 0)
    throw new UsageError(
      'NAME: missing (write redlock-run [options] NAME... -- COMMAND; see --help)',
    );
  const mistake = mistakeInNames(names);
  if (mistake !== null) throw new UsageError(`NAME: ${mistake}`);
  return names;
}

function commandOf(
  given: Readonly<GivenOptions>,
  args: readonly string[],
  names: readonly string[],
): readonly string[] {
  const script = textOf(given.get('--command'));
  if (script === null) {
    if (args.length > 0) return args;
    const last = quoted(names.at(-1) ?? '');
    throw new UsageError(
      `COMMAND: missing: ${last} was taken for NAME ` +
        '(write redlock-run [options] NAME... -- COMMAND; see --help)',
    );
  }
  if (args[0] !== undefined) {
    throw new UsageError(
      `--command: with COMMAND ${quoted(args[0])}: contradict each other (leave one out)`,
    );
  }
  return ['/bin/sh', '-c', script];
}

/**
 * Options by long name, in the order in which each was last given; true for a switch, a list for
 * one that may be repeated.
 */
export type GivenOptions = Map<string, string | true | string[]>;

export interface OptionValues {
  readonly layer: Layer;
  readonly config: string | null;
  readonly report: string | null;
  readonly verbosity: 'quiet' | 'normal' | 'verbose';
}

/** @throws UsageError for options that contradict each other */
export function readOptionValues(given: Readonly<GivenOptions>): OptionValues {
  const values: Partial<Record<ScalarKey, Given>> = {};
  const set = (key: ScalarKey, text: string, option: string) => {
    const source = `flag ${option}`;
    values[key] = { text, layer: 'flag', source, subject: option, base: '' };
  };
  // In the order that they were given: the later one of an option and its opposite wins.
  for (const [long, text] of given) {
    const { key, value } = optionTable.find((row) => row.long === long) ?? {};
    if (key === undefined || !isScalarKey(key)) continue;
    set(key, typeof text === 'string' ? text : String(value), long);
  }
  if (given.has('--nonblock')) {
    // As in flock(1), --wait is overruled, but must be a duration.
    checkDuration('--wait', values.wait?.text ?? '0');
    set('wait', '0', '--nonblock');
  }
  if (given.has('--quiet') && given.has('--verbose')) {
    throw new UsageError('--quiet: with --verbose: contradict each other (leave one out)');
  }
  const unlessQuiet = given.has('--verbose') ? 'verbose' : 'normal';
  const urls = [given.get('--master') ?? []].flat().map(String);
  const masters = urlMasters(urls, 'flag', '--master');
  return {
    layer: { name: 'flag', values, masters, mastersSource: 'flag --master' },
    config: textOf(given.get('--config')),
    report: textOf(given.get('--report')),
    verbosity: given.has('--quiet') ? 'quiet' : unlessQuiet,
  };
}

function checkDuration(option: string, text: string): void {
  if (text !== 'forever' && text !== 'none') readOption(option, text, parseDuration);
}

/** `-w job -- true`: the word that is missing was taken for a duration. */
function refuseNames(given: Readonly<GivenOptions>): void {
  for (const { long, argument } of optionTable)
    if (argument === 'DUR') checkDuration(long, textOf(given.get(long)) ?? '0');
}

/** The value of an option that takes one. */
export function textOf(value: string | true | string[] | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

/**
 * Reads the options among the arguments into `given`; returns those that are left.
 * @throws UsageError for an option without its value
 */
export function readOptions(
  rows: readonly OptionRow[],
  given: GivenOptions,
  args: readonly string[],
): Rest {
  return parse(createProgram(rows, given), args);
}

/** The arguments that are left when the options are taken out. */
interface Rest {
  readonly operands: string[];
  /** Arguments that look like options, but are not in the table. */
  readonly unknown: string[];
}

/**
 * A commander program that writes the options it reads into `given`, under their long names, also
 * where an alias was given.
 */
function createProgram(rows: readonly OptionRow[], given: GivenOptions): Command {
  const program = new Command().exitOverride().helpOption(false);
  program.configureOutput({ writeOut: () => {}, writeErr: () => {} });
  for (const row of rows) {
    // With both, commander names the long one in its message about a missing value.
    const pair = row.spellings[0]?.startsWith('--') ? [row.long] : row.spellings.slice(0, 2);
    for (const flags of [pair.join(', '), ...row.spellings.slice(pair.length)]) {
      const option = new Option(row.argument === undefined ? flags : `${flags} <${row.argument}>`);
      program.addOption(option);
      program.on(`option:${option.name()}`, (value?: string) => {
        const collected = collect(row, given, value);
        given.delete(row.long);
        given.set(row.long, collected);
      });
    }
  }
  return program;
}

function collect(row: OptionRow, given: GivenOptions, value?: string): string | true | string[] {
  if (value === undefined) return true;
  const earlier = given.get(row.long);
  return row.isRepeatable ? [...(Array.isArray(earlier) ? earlier : []), value] : value;
}

function parse(program: Command, args: readonly string[]): Rest {
  try {
    return program.parseOptions([...args]);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const [, option = 'option', argument = ''] =
      /'[^']*?(--[a-z-]+) <([^>]+)>'/.exec(error.message) ?? [];
    throw new UsageError(`${option}: no value (write ${option} ${argument})`);
  }
}

/** The option that has this spelling. */
export function optionSpelt(rows: readonly OptionRow[], word: string): OptionRow | undefined {
  return rows.find(({ spellings }) => spellings.includes(word));
}

/**
 * The error for a word that looks like an option, but is not in the table. Its suggestion never
 * means the opposite of that word.
 */
export function unknownOption(rows: readonly OptionRow[], word: string): UsageError {
  const flag = word.replace(/=.*$/s, '');
  const longs = rows.map(({ long }) => long);
  if (longs.includes(flag)) return new UsageError(`${flag}: takes no value (write ${flag})`);
  const alike = longs.filter((long) => isNegative(long) === isNegative(flag));
  const begun = alike.filter((long) => long.startsWith(flag));
  const meant = begun.length === 1 ? begun[0] : nearest(flag, alike);
  const advice = meant ? `did you mean ${meant}?` : 'see --help';
  return new UsageError(`${quoted(flag)}: unknown option (${advice})`);
}

/** `--no-history` and `--nonblock`, but not `--note` and `--notify`. */
function isNegative(flag: string): boolean {
  return /^--no(?!te\b|tify\b)/.test(flag);
}
