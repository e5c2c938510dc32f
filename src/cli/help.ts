// The text of --help and of --version. Not the man page. The surprise: it is put together by hand from the option table, not by
// commander, because two spellings of one option (--wait, --timeout) belong on one line and 100 columns are kept everywhere.

import { exitCodeTable } from '../run/exit-code.ts';
import { type OptionRow, optionTable } from './option-table.ts';
import { version } from './version.ts';

const width = 100;
const textColumn = 32;

const examples: readonly (readonly [string, string])[] = [
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
    ...optionTable
      .filter((row) => row.group === group)
      .flatMap((row) => entry(flagsOf(row), row.description, textColumn)),
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
    'Configuration: --config, $REDLOCK_CONFIG, .redlockrc here or in the nearest parent, ~/.redlockrc,',
    '/etc/redlockrc. A flag beats the environment (REDLOCK_TTL=1m), the environment beats the file.',
    '',
    'Exit status:',
    ...exitCodeTable.flatMap(([code, text]) => entry(code, text, 10)),
    '',
    'Examples:',
    ...examples.flatMap(([line, text]) => entry(line, text, 48)),
    '',
  ].join('\n');
}

/** One line: `redlock-run 1.2.3`. */
export function renderVersion(): string {
  return `redlock-run ${version}\n`;
}

function flagsOf(row: OptionRow): string {
  const spellings = [row.short ?? '  ', row.long, ...(row.aliases ?? [])];
  const flags = spellings.join(', ').replace(/^ {2},/, '   ');
  return row.argument === undefined ? flags : `${flags} ${row.argument}`;
}

/** `  left     text`, the text wrapped and hanging at `column`. */
function entry(left: string, text: string, column: number): string[] {
  const lines: string[] = [];
  let line = `  ${left}`.padEnd(column);
  for (const word of text.split(' ')) {
    if (line.length + word.length > width) {
      lines.push(line.trimEnd());
      line = ' '.repeat(column);
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()];
}
