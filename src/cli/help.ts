// The text of --help and --version, and the layout that both programs share. It is made from the
// option table and not by commander, which cannot print two spellings of one option (--wait,
// --timeout) on one line.

import { type OptionRow, optionTable } from '../config/setting-table.ts';
import { version } from '../system/version.ts';
import { exitCodesOf } from '../text/errors.ts';

/** For --help and the man page. */
export const examples: readonly (readonly [string, string])[] = [
  ['redlock-run backup -- pg_dump -Fc shop', 'wait for the lock, then run'],
  [
    'redlock-run -n -E 0 backup -- ./backup.sh',
    'from cron: skip this run when another host has it',
  ],
  ['redlock-run -w 5m deploy ./deploy.sh -n', 'wait five minutes at most; -n goes to deploy.sh'],
  ["redlock-run report -c 'make | gzip > r.gz'", 'with a shell'],
  ['redlock-run --local try -- sleep 10', 'without any Redis of your own'],
  ['redlock-run --dry-run -v backup -- true', 'where does each setting come from?'],
];

/** The end of the help of both programs: the exit status and the examples. */
export function endOfHelp(
  program: 'run' | 'ctl',
  lines: readonly (readonly [string, string])[],
  columns: number,
): string[] {
  return [
    'Exit status:',
    ...exitCodesOf(program).flatMap(([code, text]) => entry(code, text, 10, columns)),
    '',
    ...(lines.length === 0 ? [] : ['Examples:']),
    ...lines.flatMap(([line, text]) => entry(line, text, 48, columns)),
    ...(lines.length === 0 ? [] : ['']),
  ];
}

/** The width of help where that of the terminal is unknown, and its limit. */
export const defaultColumns = 80;
const maxColumns = 100;

/** A stream that may be a terminal; one without a width has 0 or no columns. */
export interface Width {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** The width for the help on this stream. */
export function helpColumns({ isTTY, columns }: Width): number {
  return isTTY && columns ? Math.min(columns, maxColumns) : defaultColumns;
}

/** Lines of at most `columns`, where words allow; ends with a newline. */
export function renderHelp(columns = defaultColumns): string {
  const groups = [...new Set(optionTable.map((row) => row.group))].flatMap((group) => [
    '',
    `${group} options:`,
    ...optionEntries(
      optionTable.filter((row) => row.group === group),
      columns,
    ),
  ]);
  return [
    'Usage: redlock-run [options] NAME... -- COMMAND [ARG...]',
    '       redlock-run [options] NAME [options] COMMAND [ARG...]',
    '       redlock-run [options] NAME -c STRING',
    '',
    ...wrapped(
      'Runs COMMAND while holding the lock NAME on a quorum of independent Redis masters, so ' +
        'that it runs once at a time across machines. Everything after -- reaches ' +
        'COMMAND untouched.',
      columns,
    ),
    ...groups,
    '',
    ...wrapped('DUR is 500ms, 30s, 5m, 2h, 1h30m, 1d or 0.5s; a bare number is seconds.', columns),
    ...wrapped(
      'Configuration: --config, $REDLOCK_CONFIG, .redlockrc here or in the nearest parent, ' +
        '$XDG_CONFIG_HOME/redlock-run/config.yaml, ~/.redlockrc, /etc/redlockrc. A flag beats ' +
        'the environment (REDLOCK_TTL=1m), the environment beats the file.',
      columns,
    ),
    '',
    ...endOfHelp('run', examples, columns),
  ].join('\n');
}

const textColumn = 32;

/** One line: `redlock-run 1.2.3`. */
export function renderVersion(program: string): string {
  return `${program} ${version}\n`;
}

/** The lines of some options. */
export function optionEntries(rows: readonly OptionRow[], columns: number): string[] {
  return rows.flatMap((row) => entry(flagsOf(row), row.description, textColumn, columns));
}

/** The spellings, with room for a short one where there is none, so that the long ones line up. */
export function flagsOf({ flags }: OptionRow): string {
  return flags.startsWith('--') ? `    ${flags}` : flags;
}

/**
 * `  left     text` as lines of at most `columns`; the text is wrapped and begins at
 * `column`, or nearer to the left where there is little room.
 */
export function entry(left: string, text: string, column: number, columns: number): string[] {
  const from = Math.min(column, Math.floor(columns / 3));
  const head = `  ${left}`.padEnd(from);
  const lines = wrapped(text, columns - from).map((line) => ' '.repeat(from) + line);
  if (!head.endsWith('  ')) return [...wrapped(left, columns, '  '), ...lines];
  return [head + (lines[0] ?? '').slice(from), ...lines.slice(1)].map((line) => line.trimEnd());
}

/** Lines of at most `columns`, broken between words; each begins with `indent`. */
export function wrapped(text: string, columns: number, indent = ''): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? indent + word : `${line} ${word}`;
    if (line !== '' && longer.length > columns) {
      lines.push(line.trimEnd());
      line = indent + word;
    } else line = longer;
  }
  return [...lines, line.trimEnd()];
}
