// What the options said, still as texts, sorted by configuration key: one layer of the settings. It refuses only what contradicts
// itself; whether a text is a good value is settings.ts's business. The surprise: -n has no place of its own, it is a wait of 0.

import { parseDuration } from './duration.ts';
import { isScalarKey, type ScalarKey } from './key-table.ts';
import { optionTable } from './option-table.ts';
import { quoted, UsageError, ValueError } from './trouble.ts';

/** Options by long name; true for a switch, a list for one that may be repeated. */
export type GivenOptions = Map<string, string | true | string[]>;

/** What the options said, as texts. */
export interface Flags {
  /** By key; `nonblock` has become a wait of 0. */
  readonly values: ReadonlyMap<ScalarKey, { readonly text: string; readonly option: string }>;
  readonly masters: readonly string[];
  readonly config: string | null;
  readonly report: string | null;
  readonly verbosity: 'quiet' | 'normal' | 'verbose';
}

/** @throws UsageError for options that contradict each other */
export function readFlags(given: Readonly<GivenOptions>): Flags {
  const values = new Map<ScalarKey, { text: string; option: string }>();
  for (const row of optionTable) {
    const value = given.get(row.long);
    if (row.key === undefined || !isScalarKey(row.key) || value === undefined || Array.isArray(value)) continue;
    values.set(row.key, { text: value === true ? (row.says ?? 'true') : value, option: row.long });
  }
  if (given.has('--nonblock')) {
    const wait = values.get('wait');
    if (wait !== undefined && !isZero(wait.text)) {
      throw new UsageError(`--nonblock: with --wait ${quoted(wait.text)}: contradict each other (leave one out)`);
    }
    values.set('wait', { text: '0', option: '--nonblock' });
  }
  if (given.has('--quiet') && given.has('--verbose')) {
    throw new UsageError('--quiet: with --verbose: contradict each other (leave one out)');
  }
  const verbosity = given.has('--quiet') ? 'quiet' : given.has('--verbose') ? 'verbose' : 'normal';
  const masters = given.get('--master');
  return {
    values,
    masters: Array.isArray(masters) ? masters : [],
    config: textOf(given.get('--config')),
    report: textOf(given.get('--report')),
    verbosity,
  };
}

function isZero(text: string): boolean {
  try {
    return text !== 'forever' && parseDuration(text) === 0;
  } catch (error) {
    if (error instanceof ValueError) throw new UsageError(`--wait: ${error.message}`);
    throw error;
  }
}

/** The value of an option that takes one. */
export function textOf(value: string | true | string[] | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
