// The text of redlockctl --help, from the table of verbs, each with its options under it.

import { endOfHelp, entry, optionEntries, spellingsOf } from '../cli/help.ts';
import { sharedOptions, type VerbRow, verbTable } from './verb-table.ts';

/** For --help and the man page. */
export const examples: readonly (readonly [string, string])[] = [
  ['redlockctl status deploy', 'why does the deploy wait?'],
  ['redlockctl status deploy --watch', 'the same, every second'],
  ["redlockctl list 'deploy-*'", 'which of the deploys run now?'],
  ['redlockctl history deploy --html deploy.html', 'what ran when, and what did not run'],
  ['redlockctl wait deploy -w 10m', 'until the deploy is over'],
  ['redlockctl break deploy', 'take the lock from its holder, after asking'],
];

/** At most 100 columns wide, ends with a newline. */
export function renderHelp(): string {
  return [
    'Usage: redlockctl [options] VERB [ARG...]',
    '',
    'Shows the holders of locks, checks the masters, breaks locks, and holds them for scripts.',
    '',
    'Verbs:',
    ...verbTable.flatMap((row) => [...entry(synopsisOf(row), row.summary, 32), ...indented(row)]),
    '',
    'Options of all verbs, as in redlock-run:',
    ...optionEntries(sharedOptions),
    '',
    'Configuration is that of redlock-run: --config, $REDLOCK_CONFIG, .redlockrc here or in the',
    'nearest parent, $XDG_CONFIG_HOME/redlock-run/config.yaml, ~/.redlockrc, /etc/redlockrc;',
    'REDLOCK_MASTERS and the other variables.',
    '',
    'redlockctl VERB --help, or redlockctl help VERB, shows one verb alone.',
    '',
    ...endOfHelp('ctl', examples),
  ].join('\n');
}

/** The help of one verb, at most 100 columns wide, ends with a newline. */
export function renderVerbHelp(row: VerbRow): string {
  const own = row.options.map((option) => ({ ...option, group: 'Output' as const }));
  return [
    `Usage: redlockctl ${synopsisOf(row)}${own.length === 0 ? '' : ' [options]'}`,
    '',
    ...entry('', row.summary, 2),
    ...(own.length === 0 ? [] : ['', 'Options:', ...optionEntries(own)]),
    '',
    'Options of all verbs, as in redlock-run:',
    ...optionEntries(sharedOptions),
    '',
    ...endOfHelp(
      'ctl',
      examples.filter(([line]) => line.startsWith(`redlockctl ${row.verb} `)),
    ),
  ].join('\n');
}

/** `status NAME...` */
export function synopsisOf({ verb, operands }: VerbRow): string {
  return `${verb} ${operands}`.trim();
}

/** The options of a verb stand under it. */
function indented({ options }: VerbRow): string[] {
  return options.flatMap((option) => {
    const flags = option.short === undefined ? `    ${spellingsOf(option)}` : spellingsOf(option);
    return entry(`    ${flags}`, option.description, 32);
  });
}
