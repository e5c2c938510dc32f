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

// A page as roff text, with the few macros of man(7) that the pages need. *Note:* roff takes a line
// that begins with a dot or an apostrophe for a macro, and prints a bare minus sign as a hyphen,
// which no shell understands; both are escaped.

/** One part of a section: a paragraph, an indented block of verbatim lines, or a list of terms. */
export type Part =
  | { readonly kind: 'paragraph'; readonly text: string }
  | { readonly kind: 'block'; readonly lines: readonly string[] }
  | { readonly kind: 'terms'; readonly terms: readonly (readonly [term: string, text: string])[] };

export interface Section {
  readonly title: string;
  readonly parts: readonly Part[];
}

export interface Page {
  readonly name: string;
  readonly section: 1 | 5;
  /** The text behind the name in the section NAME, which apropos(1) shows. */
  readonly purpose: string;
  /** `redlock-run 1.2.3`. */
  readonly source: string;
  readonly sections: readonly Section[];
}

/** Ends with a newline. */
export function renderPage({ name, section, purpose, source, sections }: Page): string {
  const manual = section === 1 ? 'User Commands' : 'File Formats';
  const lines = [
    `.TH "${escaped(name.toUpperCase())}" "${section}" "" "${escaped(source)}" "${manual}"`,
    '.SH NAME',
    `${escaped(name)} \\- ${escaped(purpose)}`,
    ...sections.flatMap(({ title, parts }) => [
      `.SH "${escaped(title)}"`,
      ...parts.flatMap(partLines),
    ]),
  ];
  return `${lines.join('\n')}\n`;
}

function partLines(part: Part): string[] {
  switch (part.kind) {
    case 'paragraph':
      return ['.PP', line(part.text)];
    case 'block':
      return ['.PP', '.RS 4', '.nf', ...part.lines.map(line), '.fi', '.RE'];
    case 'terms':
      return part.terms.flatMap(([term, text]) => ['.TP', `\\fB${escaped(term)}\\fR`, line(text)]);
  }
}

function line(text: string): string {
  return /^[.']/.test(text) ? `\\&${escaped(text)}` : escaped(text);
}

function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('"', '\\(dq')
    .replaceAll("'", '\\(aq')
    .replaceAll('^', '\\(ha')
    .replaceAll('~', '\\(ti')
    .replaceAll('`', '\\(ga');
}

const paragraph = (text: string): Part => ({ kind: 'paragraph', text });
const terms = (...rows: readonly (readonly [string, string])[]): Part => ({
  kind: 'terms',
  terms: rows,
});
const optionTerms = (rows: readonly OptionRow[]): Part =>
  terms(...rows.map(({ flags, description }) => [flags, description] as const));
const exampleParts = (rows: readonly (readonly [string, string])[]): Part[] =>
  rows.flatMap(([line, text]) => [paragraph(`${text}:`), { kind: 'block', lines: [line] }]);
const seeAlso = (text: string): Section => ({ title: 'SEE ALSO', parts: [paragraph(text)] });

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
  return new Map([
    [
      'redlock-run.1',
      renderPage({
        name: 'redlock-run',
        section: 1,
        purpose: 'run a command under a Redlock',
        source,
        sections: runSections(),
      }),
    ],
    [
      'redlockctl.1',
      renderPage({
        name: 'redlockctl',
        section: 1,
        purpose: 'show, check and break locks of redlock-run',
        source,
        sections: ctlSections(),
      }),
    ],
    [
      'redlockrc.5',
      renderPage({
        name: 'redlockrc',
        section: 5,
        purpose: 'configuration of redlock-run and redlockctl',
        source,
        sections: fileSections(),
      }),
    ],
  ]);
}

function runSections(): Section[] {
  const groups = [...new Set(optionTable.map(({ group }) => group))];
  return [
    {
      title: 'SYNOPSIS',
      parts: [
        {
          kind: 'block',
          lines: [
            'redlock-run [options] NAME... -- COMMAND [ARG...]',
            'redlock-run [options] NAME [options] COMMAND [ARG...]',
            'redlock-run [options] NAME -c STRING',
          ],
        },
      ],
    },
    {
      title: 'DESCRIPTION',
      parts: [
        paragraph(
          'Runs COMMAND while holding the lock NAME on a quorum of independent Redis ' +
            'masters, so that it runs once at a time across machines. The lock is extended ' +
            'while COMMAND runs, and released when it and everything it started have ended.',
        ),
        paragraph(
          'Everything after -- reaches COMMAND byte for byte. Without --, options end at the ' +
            'first word after NAME, as in flock(1). Standard input, output and error are those ' +
            'of the caller; a run that succeeds without waiting prints nothing.',
        ),
        paragraph(
          'When the lock is lost, COMMAND and its whole process tree are ended before another ' +
            'client can acquire it.',
        ),
        paragraph(
          'With several names all of these locks are held, or none. Two runs that name the same ' +
            'locks in another order do not block each other.',
        ),
      ],
    },
    ...groups.map(
      (group): Section => ({
        title: `${group.toUpperCase()} OPTIONS`,
        parts: [optionTerms(optionTable.filter((row) => row.group === group))],
      }),
    ),
    { title: 'DURATIONS', parts: [paragraph(durations)] },
    { title: 'ENVIRONMENT', parts: [paragraph(twins), terms(...givenToCommand)] },
    { title: 'EXIT STATUS', parts: [terms(...exitCodesOf('run'))] },
    { title: 'FILES', parts: [paragraph(`${search} See redlockrc(5).`)] },
    { title: 'EXAMPLES', parts: exampleParts(examples) },
    seeAlso('redlockctl(1), redlockrc(5), flock(1), timeout(1)'),
  ];
}

function ctlSections(): Section[] {
  const verbs = verbTable.map(
    (row): Section => ({
      title: synopsisOf(row),
      parts: [
        paragraph(`${row.summary}.`),
        ...(row.options.length > 0 ? [optionTerms(row.options)] : []),
      ],
    }),
  );
  return [
    {
      title: 'SYNOPSIS',
      parts: [
        { kind: 'block', lines: verbTable.map((row) => `redlockctl [options] ${synopsisOf(row)}`) },
      ],
    },
    {
      title: 'DESCRIPTION',
      parts: [
        paragraph(
          'Shows the holders of the locks of redlock-run(1), checks the masters, and breaks ' +
            'locks. It uses the same configuration. doctor tries the masters with a lock of ' +
            'its own.',
        ),
      ],
    },
    ...verbs,
    { title: 'OPTIONS OF ALL VERBS', parts: [optionTerms(sharedOptions)] },
    { title: 'EXIT STATUS', parts: [terms(...exitCodesOf('ctl'))] },
    { title: 'FILES', parts: [paragraph(`${search} See redlockrc(5).`)] },
    { title: 'EXAMPLES', parts: exampleParts(ctlExamples) },
    seeAlso('redlock-run(1), redlockrc(5)'),
  ];
}

function fileSections(): Section[] {
  const keys = keyTable.map(({ key, description }) => {
    const twins = key === 'tls' ? tlsKeys : [key];
    const twin = ` Environment: ${twins.map(environmentName).join(', ')}.`;
    return [key, `${description} (default: ${defaultTextOf(key)}).${twin}`] as const;
  });
  return [
    {
      title: 'DESCRIPTION',
      parts: [
        paragraph(search),
        paragraph(
          'The file is YAML, so JSON works too. Unknown keys are errors. ' +
            `\${VAR} in a value is replaced from the environment and must be set; ` +
            `$\${ stands for the two characters themselves. ` +
            'Relative file names start from the directory of the file.',
        ),
      ],
    },
    { title: 'KEYS', parts: [terms(...keys)] },
    { title: 'DURATIONS', parts: [paragraph(durations)] },
    {
      title: 'EXAMPLES',
      parts: [
        {
          kind: 'block',
          lines: [
            'masters:',
            '  - redis://10.0.0.1:6379',
            '  - rediss://locker@10.0.0.2:6380',
            '  - unix:///run/redis/redis.sock',
            'passwordFile: /run/secrets/redis',
            'ttl: 30s',
          ],
        },
      ],
    },
    seeAlso('redlock-run(1), redlockctl(1)'),
  ];
}
