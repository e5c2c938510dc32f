// The text of --help. Not the man page. The surprise: it is put together by hand from the option table, not by
// commander, because two spellings of one option (--wait, --timeout) belong on one line and 100 columns are kept everywhere.

import { exitCodeTable } from '../run/exit-code.ts';
import { entry, optionEntries } from './help-layout.ts';
import { optionTable } from './option-table.ts';

/** For --help and the man page. */
export const examples: readonly (readonly [string, string])[] = [
  ['redlock-run backup -- pg_dump -Fc shop', 'wait for the lock, then run'],
  ['redlock-run -n -E 0 backup -- ./backup.sh', 'from cron: skip this run when another host has it'],
  ['redlock-run -w 5m deploy ./deploy.sh -n', 'wait five minutes at most; -n goes to deploy.sh'],
  ["redlock-run report -c 'make | gzip > r.gz'", 'with a shell'],
  ['redlock-run --local try -- sleep 10', 'without any Redis of your own'],
  ['redlock-run --dry-run -v backup -- true', 'where does each setting come from?'],
];

/** At most 100 columns wide, ends with a newline. */
export function renderHelp(): string {
  const groups = [...new Set(optionTable.map((row) => row.group))].flatMap((group) => [
    '',
    `${group} options:`,
    ...optionEntries(optionTable.filter((row) => row.group === group)),
  ]);
  return [
    'Usage: redlock-run [options] NAME -- COMMAND [ARG...]',
    '       redlock-run [options] NAME [options] COMMAND [ARG...]',
    '       redlock-run [options] NAME -c STRING',
    '',
    'Runs COMMAND while holding the lock NAME on a quorum of independent Redis masters, so that it',
    'runs once at a time across machines. Everything after -- reaches COMMAND untouched.',
    ...groups,
    '',
    'DUR is 500ms, 30s, 5m, 2h, 1h30m, 1d or 0.5s; a bare number is seconds.',
    'Configuration: --config, $REDLOCK_CONFIG, .redlockrc here or in the nearest parent,',
    '$XDG_CONFIG_HOME/redlock-run/config.yaml, ~/.redlockrc, /etc/redlockrc. A flag beats the',
    'environment (REDLOCK_TTL=1m), the environment beats the file.',
    '',
    'Exit status:',
    ...exitCodeTable.flatMap(([code, text]) => entry(code, text, 10)),
    '',
    'Examples:',
    ...examples.flatMap(([line, text]) => entry(line, text, 48)),
    '',
  ].join('\n');
}
