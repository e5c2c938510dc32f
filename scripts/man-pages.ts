// The man pages redlock-run(1), redlockctl(1) and redlockrc(5), which the build writes to dist/man.
// They are made from the tables of options, keys, verbs and exit codes; only the sentences around
// the tables are here.

import { examples } from '../src/cli/help.ts';
import {
  defaultTextOf,
  environmentName,
  keyTable,
  type OptionRow,
  optionTable,
  tlsKeys,
} from '../src/config/setting-table.ts';
import { examples as ctlExamples, synopsisOf } from '../src/ctl/command-line.ts';
import { sharedOptions, verbTable } from '../src/ctl/verb-table.ts';
import { exitCodesOf } from '../src/text/errors.ts';

// *Note:* roff takes a line that begins with a dot or an apostrophe for a macro, and prints a bare
// minus sign as a hyphen, which no shell understands; both are escaped.

/** A part of a page, as lines of roff. */
type Section = readonly [title: string, ...lines: readonly string[]];

function escaped(text: string): string {
  const signs: Record<string, string> = {
    '\\': '\\e',
    '-': '\\-',
    '"': '\\(dq',
    "'": '\\(aq',
    '^': '\\(ha',
    '~': '\\(ti',
    '`': '\\(ga',
  };
  return text.replace(/[\\\-"'^~`]/g, (sign) => signs[sign] ?? sign);
}

const lineOf = (text: string) => (/^[.']/.test(text) ? `\\&${escaped(text)}` : escaped(text));
export const paragraph = (text: string) => ['.PP', lineOf(text)];
/** Lines that stay as they are. */
export const block = (lines: readonly string[]) => [
  '.PP',
  '.RS 4',
  '.nf',
  ...lines.map(lineOf),
  '.fi',
  '.RE',
];
const terms = (rows: readonly (readonly [term: string, text: string])[]) =>
  rows.flatMap(([term, text]) => ['.TP', `\\fB${escaped(term)}\\fR`, lineOf(text)]);
const options = (rows: readonly OptionRow[]) =>
  terms(rows.map(({ flags, description }) => [flags, description]));
const examplesOf = (rows: readonly (readonly [string, string])[]): Section => [
  'EXAMPLES',
  ...rows.flatMap(([line, text]) => [...paragraph(`${text}:`), ...block([line])]),
];

const durations = 'DUR is 500ms, 30s, 5m, 2h, 1h30m, 1d or 0.5s; a bare number is seconds.';
const search =
  'The first of these is read: --config FILE, $REDLOCK_CONFIG, .redlockrc in the working ' +
  'directory or the nearest parent (up to the home directory when inside it, never across a ' +
  'file system boundary), $XDG_CONFIG_HOME/redlock-run/config.yaml, ~/.redlockrc, ' +
  '/etc/redlockrc. A file that is found, and not named, must belong to the caller or root, ' +
  'and no other user may be able to write it. An option beats the environment, the ' +
  'environment beats the file.';

const twins =
  'Each key of redlockrc(5) has a variable: ttl is REDLOCK_TTL, restartGrace is ' +
  'REDLOCK_RESTART_GRACE. REDLOCK_MASTERS is a list of URLs separated by commas; REDLOCK_CONFIG ' +
  'names the configuration file. A variable that is set and empty counts as unset; only an empty ' +
  'REDLOCK_PREFIX is a value: no prefix. COMMAND gets the environment of the caller, and these:';
/** The variables that COMMAND gets. */
const givenToCommand: readonly (readonly [string, string])[] = [
  ['REDLOCK_NAME', 'the name of the lock; of several the first'],
  ['REDLOCK_NAMES', 'all names of this run, separated by commas'],
  ['REDLOCK_TOKEN', 'the random value that proves ownership'],
  ['REDLOCK_FENCE', 'the fencing number, larger for every later holder; empty with --no-fence'],
  ['REDLOCK_SLOT', 'with --slots the number of its slot, which no other holder has; else empty'],
  ['REDLOCK_TTL_MS', 'the validity asked of the masters'],
  ['REDLOCK_HELD', 'the names held by this run and the enclosing runs, outermost first'],
  ['REDLOCK_HELD_LEASES', 'token, fencing number, validity, slot and process of each of those'],
];

/** The pages by file name, such as `redlock-run.1`. */
export function renderManual(version: string): ReadonlyMap<string, string> {
  const source = `redlock-run ${version}`;
  const head = (name: string, section: string, manual: string, purpose: string) => [
    `.TH "${escaped(name.toUpperCase())}" "${section}" "" "${escaped(source)}" "${manual}"`,
    '.SH NAME',
    `${escaped(name)} \\- ${escaped(purpose)}`,
  ];
  const bodyOf = (sections: readonly Section[]) =>
    sections.flatMap(([title, ...lines]) => [`.SH "${escaped(title)}"`, ...lines]);
  const [program, commands] = ['redlock-run', 'User Commands'];
  const pages = {
    'redlock-run.1': [
      ...head(program, '1', commands, 'run a command under a Redlock'),
      ...bodyOf(runSections()),
    ],
    'redlockctl.1': [
      ...head('redlockctl', '1', commands, 'show, check and break locks of redlock-run'),
      ...bodyOf(ctlSections()),
    ],
    'redlockrc.5': [
      ...head('redlockrc', '5', 'File Formats', 'configuration of redlock-run and redlockctl'),
      ...bodyOf(fileSections()),
    ],
  };
  return new Map(Object.entries(pages).map(([name, lines]) => [name, `${lines.join('\n')}\n`]));
}

function runSections(): Section[] {
  const groups = [...new Set(optionTable.map(({ group }) => group))];
  const synopsis = [
    'redlock-run [options] NAME... -- COMMAND [ARG...]',
    'redlock-run [options] NAME [options] COMMAND [ARG...]',
    'redlock-run [options] NAME -c STRING',
  ];
  const description = [
    'Runs COMMAND while holding the lock NAME on a quorum of independent Redis masters, so that ' +
      'it runs once at a time across machines. The lock is extended while COMMAND runs, and ' +
      'released when it and everything it started have ended.',
    'Everything after -- reaches COMMAND byte for byte. Without --, options end at the first ' +
      'word after NAME, as in flock(1). Standard input, output and error are those of the ' +
      'caller; a run that succeeds without waiting prints nothing.',
    'When the lock is lost, COMMAND and its whole process tree are ended before another client ' +
      'can acquire it.',
    'With several names all of these locks are held, or none. Two runs that name the same locks ' +
      'in another order do not block each other.',
  ];
  return [
    ['SYNOPSIS', ...block(synopsis)],
    ['DESCRIPTION', ...description.flatMap(paragraph)],
    ...groups.map(
      (group): Section => [
        `${group.toUpperCase()} OPTIONS`,
        ...options(optionTable.filter((row) => row.group === group)),
      ],
    ),
    ['DURATIONS', ...paragraph(durations)],
    ['ENVIRONMENT', ...paragraph(twins), ...terms(givenToCommand)],
    ['EXIT STATUS', ...terms(exitCodesOf('run'))],
    ['FILES', ...paragraph(`${search} See redlockrc(5).`)],
    examplesOf(examples),
    ['SEE ALSO', ...paragraph('redlockctl(1), redlockrc(5), flock(1), timeout(1)')],
  ];
}

function ctlSections(): Section[] {
  const description =
    'Shows the holders of the locks of redlock-run(1), checks the masters, and breaks locks. It ' +
    'uses the same configuration. doctor tries the masters with a lock of its own.';
  return [
    ['SYNOPSIS', ...block(verbTable.map((row) => `redlockctl [options] ${synopsisOf(row)}`))],
    ['DESCRIPTION', ...paragraph(description)],
    ...verbTable.map(
      (row): Section => [synopsisOf(row), ...paragraph(`${row.summary}.`), ...options(row.options)],
    ),
    ['OPTIONS OF ALL VERBS', ...options(sharedOptions)],
    ['EXIT STATUS', ...terms(exitCodesOf('ctl'))],
    ['FILES', ...paragraph(`${search} See redlockrc(5).`)],
    examplesOf(ctlExamples),
    ['SEE ALSO', ...paragraph('redlock-run(1), redlockrc(5)')],
  ];
}

function fileSections(): Section[] {
  const form =
    'The file is YAML, so JSON works too. Unknown keys are errors. ' +
    `\${VAR} in a value is replaced from the environment and must be set; ` +
    `$\${ stands for the two characters themselves. ` +
    'Relative file names start from the directory of the file.';
  const keys = keyTable.map(({ key, description }) => {
    const names = (key === 'tls' ? tlsKeys : [key]).map(environmentName).join(', ');
    const text = `${description} (default: ${defaultTextOf(key)}). Environment: ${names}.`;
    return [key, text] as const;
  });
  const example = [
    'masters:',
    '  - redis://10.0.0.1:6379',
    '  - rediss://locker@10.0.0.2:6380',
    '  - unix:///run/redis/redis.sock',
    'passwordFile: /run/secrets/redis',
    'ttl: 30s',
  ];
  return [
    ['DESCRIPTION', ...paragraph(search), ...paragraph(form)],
    ['KEYS', ...terms(keys)],
    ['DURATIONS', ...paragraph(durations)],
    ['EXAMPLES', ...block(example)],
    ['SEE ALSO', ...paragraph('redlock-run(1), redlockctl(1)')],
  ];
}
