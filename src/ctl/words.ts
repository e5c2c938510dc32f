// The command line of redlockctl, parsed: verb, operands, options. Values stay text. Pure. Every
// option is accepted by the parser and refused afterwards, so that `redlockctl --json status x` and
// `redlockctl status x --json` are the same.

import {
  type Flags,
  type GivenOptions,
  textOf as optionText,
  type PrintWords,
  readFlags,
  readOptions,
  unknownOption,
} from '../config/arguments.ts';
import { objectionToNames } from '../redis/keys.ts';
import { UsageError } from '../text/errors.ts';
import { nearest } from '../text/nearest.ts';
import { quoted } from '../text/quote.ts';
import { allOptions, sharedOptions, type VerbRow, verbNames, verbTable } from './verb-table.ts';

export interface VerbWords {
  readonly kind: 'verb';
  readonly row: VerbRow;
  readonly operands: readonly string[];
  readonly flags: Flags;
  /** By long name, for switches of the verb. */
  readonly has: (long: string) => boolean;
  /** The value of an option of the verb, or null. */
  readonly textOf: (long: string) => string | null;
}

export type Words = VerbWords | PrintWords;

/**
 * Parses `argv`, without the name of the program.
 * @throws UsageError
 */
export function parseWords(argv: readonly string[]): Words {
  const given = new Map() as GivenOptions;
  const { operands, unknown } = readOptions(allOptions, given, argv);
  if (given.has('--help')) return { kind: 'help' };
  if (given.has('--version')) return { kind: 'version' };
  if (unknown[0] !== undefined) throw unknownOption(allOptions, unknown[0]);
  const [verb, ...rest] = operands;
  if (verb === undefined)
    throw new UsageError(`VERB: missing (write one of ${verbNames.join(', ')}; see --help)`);
  const row = verbTable.find((candidate) => candidate.verb === verb);
  if (row === undefined) throw unknownVerb(verb);
  const known = [...sharedOptions, ...row.options].map(({ long }) => long);
  for (const long of given.keys()) {
    if (!known.includes(long))
      throw new UsageError(`${long}: not an option of ${row.verb} (see --help)`);
  }
  const synopsis = `redlockctl ${row.verb} ${row.operands}`.trim();
  if (rest.length < row.least)
    throw new UsageError(`${row.verb}: ${row.operands} missing (write ${synopsis})`);
  if (rest.length > row.most) {
    throw new UsageError(
      `${row.verb}: ${quoted(rest[row.most] ?? '')}: one word too many (write ${synopsis})`,
    );
  }
  // The word that is being completed may be empty.
  if (rest.includes('') && row.verb !== 'completion')
    throw new UsageError(`${row.verb}: "": empty (write ${synopsis})`);
  const isNamed = ['acquire', 'hold', 'freeze'].includes(row.verb);
  const objection = isNamed ? objectionToNames(rest) : null;
  if (objection !== null) throw new UsageError(`${row.verb}: ${objection}`);
  // The verb is about the masters of --local.
  if (row.verb === 'local') given.set('--local', true);
  return {
    kind: 'verb',
    row,
    operands: rest,
    flags: readFlags(given),
    has: (long) => given.has(long),
    textOf: (long) => optionText(given.get(long)),
  };
}

function unknownVerb(verb: string): UsageError {
  const suggestion = nearest(verb, verbNames);
  const hint =
    suggestion === null ? `one of ${verbNames.join(', ')}` : `did you mean ${suggestion}?`;
  return new UsageError(`${quoted(verb)}: unknown verb (${hint})`);
}
