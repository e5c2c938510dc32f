// The findings that --accept names: under --strict they may be a warning or unknown. An error is
// never accepted.

import { UsageError } from '../../text/errors.ts';
import { nearest } from '../../text/nearest.ts';
import { quoted } from '../../text/quote.ts';
import type { VerbWords } from '../arguments.ts';
import { masterCheckNames } from './master-findings.ts';

const setCheckNames = [
  'quorum',
  'count',
  'hosts',
  'duplicates',
  'guard',
  'configFile',
  'reachable',
];

/**
 * The names of the checks that are accepted: `--accept mode --accept hosts`, `--accept mode hosts`
 * or `--accept mode,hosts`.
 * @throws UsageError for a name that no check has
 */
export function acceptedChecks({ operands, textsOf }: VerbWords): ReadonlySet<string> {
  const given = textsOf('--accept');
  const [operand] = operands;
  if (given.length === 0 && operand !== undefined)
    throw new UsageError(`doctor: ${quoted(operand)}: one word too many (write redlockctl doctor)`);
  const names = [...given, ...operands].flatMap((text) => text.split(','));
  const known = [...setCheckNames, ...masterCheckNames];
  for (const name of names) {
    if (known.includes(name)) continue;
    const suggestion = nearest(name, known);
    const advice =
      suggestion === null ? `one of ${known.join(', ')}` : `did you mean ${suggestion}?`;
    throw new UsageError(`--accept: ${quoted(name)}: no finding of doctor (${advice})`);
  }
  return new Set(names);
}
