// The command line of redlockctl: parsed into verb, operands and options, and the text of --help,
// from the table of verbs. Values stay text. Pure. Every option is accepted by the parser and
// refused afterwards, so that `redlockctl --json status x` and `redlockctl status x --json` are the
// same.

import { defaultColumns, endOfHelp, entry, flagsOf, optionEntries, wrapped } from '../cli/help.ts';
import {
  type GivenOptions,
  type OptionValues,
  optionSpelt,
  textOf as optionText,
  readOptions,
  readOptionValues,
  unknownOption,
} from '../config/arguments.ts';
import { mistakeInNames } from '../redis/keys.ts';
import { UsageError } from '../text/errors.ts';
import { quoted } from '../text/foreign-text.ts';
import { nearest } from '../text/suggestion.ts';
import type { VerbArguments } from './call.ts';
import { isPattern, literal } from './names.ts';
import {
  allOptions,
  operandCounts,
  sharedOptions,
  takesNames,
  type VerbRow,
  verbNames,
  verbTable,
} from './verb-table.ts';

/** `row` of help: the verb that it is about; null: all of it. */
type Arguments =
  | { readonly kind: 'version' }
  | { readonly kind: 'help'; readonly row: VerbRow | null }
  | ({
      readonly kind: 'verb';
      readonly row: VerbRow;
      readonly options: OptionValues;
    } & VerbArguments);

/**
 * Parses `argv`, without the name of the program.
 * @throws UsageError
 */
export function parseArguments(argv: readonly string[]): Arguments {
  const given = new Map() as GivenOptions;
  refuseOptionsAsValues(argv);
  const { operands, unknown } = readOptions(allOptions, given, argv);
  const isHelp = operands[0] === 'help';
  if (given.has('--help') || isHelp) {
    const about = operands[isHelp ? 1 : 0];
    return { kind: 'help', row: about === undefined ? null : rowOf(about) };
  }
  if (given.has('--version')) return { kind: 'version' };
  if (unknown[0] !== undefined) throw unknownOption(allOptions, unknown[0]);
  const [verb, ...rest] = operands;
  if (verb === undefined)
    throw new UsageError(`VERB: missing (write one of ${verbNames.join(', ')}; see --help)`);
  const row = rowOf(verb);
  refuseOptionsOfOthers(row, given);
  refuseOperands(row, rest, given.has(literal));
  // The verb is about the masters of --local.
  if (verb === 'local') given.set('--local', true);
  return {
    kind: 'verb',
    row,
    verb,
    operands: rest,
    name: rest[0] ?? '',
    options: readOptionValues(given),
    has: (long) => given.has(long),
    textOf: (long) => optionText(given.get(long)),
    textsOf: (long) => [given.get(long) ?? []].flat().filter((text) => typeof text === 'string'),
  };
}

/** @throws UsageError */
function refuseOptionsOfOthers({ verb, options }: VerbRow, given: Readonly<GivenOptions>): void {
  const known = [...sharedOptions, ...options].map(({ long }) => long);
  for (const long of given.keys())
    if (!known.includes(long))
      throw new UsageError(`${long}: not an option of ${verb} (see --help)`);
}

/** @throws UsageError */
function refuseOperands(row: VerbRow, operands: readonly string[], isLiteral: boolean): void {
  const { verb } = row;
  const synopsis = `redlockctl ${synopsisOf(row)}`;
  const { min, max } = operandCounts(row);
  if (operands.length < min)
    throw new UsageError(`${verb}: ${row.operands} missing (write ${synopsis})`);
  if (operands.length > max) {
    const what = quoted(operands[max] ?? '');
    const option = row.options.some(({ long }) => long === '--token') ? ' --token T' : '';
    throw new UsageError(`${verb}: ${what}: unexpected argument (write ${synopsis}${option})`);
  }
  // The word that is being completed may be empty.
  if (operands.includes('') && verb !== 'completion')
    throw new UsageError(`${verb}: "": empty (write ${synopsis})`);
  // `freeze 'deploy-*'` would freeze a lock of that name, and bar none of those that match.
  const pattern = takesNames(row) && !isLiteral ? operands.find(isPattern) : undefined;
  if (pattern !== undefined) {
    const which = quoted(pattern);
    const advice = `redlockctl list ${which} shows what matches; ${literal} if it is a name`;
    throw new UsageError(`${verb}: ${which}: a pattern, and ${verb} takes names only (${advice})`);
  }
  const isNamed = ['acquire', 'hold', 'freeze'].includes(verb);
  const mistake = isNamed ? mistakeInNames(operands) : null;
  if (mistake !== null) throw new UsageError(`${verb}: ${mistake}`);
}

/** @throws UsageError */
function rowOf(verb: string): VerbRow {
  const row = verbTable.find((candidate) => candidate.verb === verb);
  if (row !== undefined) return row;
  const suggestion = nearest(verb, verbNames);
  const hint = suggestion ? `did you mean ${suggestion}?` : `one of ${verbNames.join(', ')}`;
  throw new UsageError(`${quoted(verb)}: unknown verb (${hint})`);
}

/**
 * `freeze --note --master URL` would freeze a lock that is called like a URL.
 * @throws UsageError for an option in the place of the value of another one
 */
function refuseOptionsAsValues(argv: readonly string[]): void {
  for (let at = 0; at < argv.length && argv[at] !== '--'; at += 1) {
    const word = argv[at] as string;
    if (optionSpelt(allOptions, word)?.argument === undefined) continue;
    at += 1;
    const value = argv[at] ?? '';
    const [name = ''] = value.split('=', 1);
    if (optionSpelt(allOptions, name) === undefined) continue;
    const how = word.startsWith('--') ? `${word}=${value}` : `${word}${value}`;
    throw new UsageError(`${word}: ${quoted(value)}: is an option (write ${how} if it is meant)`);
  }
}

/** For --help and the man page. */
export const examples: readonly (readonly [string, string])[] = [
  ['redlockctl status deploy', 'why does the deploy wait?'],
  ['redlockctl status deploy --watch', 'the same, every second'],
  ["redlockctl list 'deploy-*'", 'which of the deploys run now?'],
  ['redlockctl history deploy --html deploy.html', 'what ran when, and what did not run'],
  ['redlockctl wait deploy -w 10m', 'until the deploy is over'],
  ['redlockctl break deploy', 'take the lock from its holder, after asking'],
];

/** Lines of at most `columns`, where words allow; ends with a newline. */
export function renderHelp(columns = defaultColumns): string {
  return [
    'Usage: redlockctl [options] VERB [ARG...]',
    '',
    ...wrapped(
      'Shows the holders of locks, checks the masters, breaks locks, and holds them for scripts.',
      columns,
    ),
    '',
    'Verbs:',
    ...verbTable.flatMap((row) => [
      ...entry(synopsisOf(row), row.summary, 32, columns),
      ...row.options.flatMap((option) =>
        entry(`    ${flagsOf(option)}`, option.description, 32, columns),
      ),
    ]),
    '',
    ...helpOfShared(columns),
    ...wrapped(
      'Configuration is that of redlock-run: --config, $REDLOCK_CONFIG, .redlockrc here or in ' +
        'the nearest parent, $XDG_CONFIG_HOME/redlock-run/config.yaml, ~/.redlockrc, ' +
        '/etc/redlockrc; REDLOCK_MASTERS and the other variables.',
      columns,
    ),
    '',
    ...wrapped('redlockctl VERB --help, or redlockctl help VERB, shows one verb alone.', columns),
    '',
    ...endOfHelp('ctl', examples, columns),
  ].join('\n');
}

/** The help of one verb, ends with a newline. */
export function renderVerbHelp(row: VerbRow, columns = defaultColumns): string {
  const { options, summary, verb } = row;
  const ownExamples = examples.filter(([line]) => line.startsWith(`redlockctl ${verb} `));
  return [
    `Usage: redlockctl ${synopsisOf(row)}${options.length === 0 ? '' : ' [options]'}`,
    '',
    ...wrapped(summary, columns, '  '),
    ...(options.length === 0 ? [] : ['', 'Options:', ...optionEntries(options, columns)]),
    '',
    ...helpOfShared(columns),
    ...endOfHelp('ctl', ownExamples, columns),
  ].join('\n');
}

function helpOfShared(columns: number): string[] {
  const entries = optionEntries(sharedOptions, columns);
  return ['Options of all verbs, as in redlock-run:', ...entries, ''];
}

/** `status NAME...` */
export function synopsisOf({ verb, operands }: VerbRow): string {
  return `${verb} ${operands}`.trim();
}
