// The one table of all settings: the key of the configuration file, the option, the kind of value,
// the default, and one description. From it follow the type of the settings, the variables in the
// environment, --help, the man pages, completion, --dry-run, and what the command line and the file
// accept; .redlockrc.example and docs/reference.md are compared with it. A default is written as a
// user would write it, and parsed like any other text.

import { kinds } from './values.ts';

type ValueKind = keyof typeof kinds;

interface SettingRow {
  /** Its field in `Settings`; absent: the key itself, or `ttlMs` for a duration `ttl`. */
  readonly field?: string;
  /** Absent: it is no key of the configuration file, but for one run only. */
  readonly kind?: ValueKind | 'masters' | 'tls';
  /** Absent: there is none, or it is computed from other values. */
  readonly default?: string;
  /** The default in words, where `default` does not say it; absent with `default`: none. */
  readonly defaultText?: string;
  /** Empty text is a value of its own; absent: an empty variable counts as unset. */
  readonly mayBeEmpty?: true;
  readonly description: string;
  /** Sets the key for one run, a switch to true; as in --help: `-w, --wait, --timeout DUR`. */
  readonly option?: string;
  /** A switch that sets the key to false. */
  readonly opposite?: readonly [flags: string, description: string];
}

/** By key, in the order of help and of redlockrc(5). */
type Section = Readonly<Record<string, SettingRow>>;

const lock = {
  ttl: {
    kind: 'ttl',
    default: '30s',
    description: 'lock validity, extended while the command runs',
    option: '--ttl DUR',
  },
  masters: {
    kind: 'masters',
    description:
      'a master: redis://[user[:pass]@]host[:port][/db], ' +
      'rediss://, unix:///path or ' +
      'redis+sentinel://[user[:pass]@]host:port,.../NAME[/db]',
    option: '--master URL',
  },
  config: {
    option: '--config FILE',
    description: 'the configuration file (default: search .redlockrc)',
  },
  local: {
    kind: 'boolean',
    default: 'false',
    description: 'use masters of this user on this machine',
    option: '--local',
  },
  localDirectory: {
    kind: 'path',
    defaultText: 'a directory of this user',
    description: 'where the local masters keep their sockets and files',
  },
  prefix: {
    kind: 'text',
    default: 'redlock:',
    mayBeEmpty: true,
    description: "what every key on the masters begins with; '' for the bare NAME",
    option: '--prefix STR',
  },
  protocol: {
    kind: 'protocol',
    default: 'redlock',
    description:
      'what the key holds: redlock; or setnx or setnx-ms, on one master shared with older programs',
  },
  masterTimeout: {
    kind: 'span',
    defaultText: 'ttl/20, at least 50ms, at most 2s',
    description: 'how long one master may take to answer',
  },
  restartGrace: {
    kind: 'duration',
    defaultText: 'the ttl, with three masters or more, or behind sentinels',
    description:
      'how long a master does not vote after a restart, or empty (set the longest ttl in use); ' +
      '0 turns this off, as --local does',
  },
  differingMasters: {
    kind: 'reaction',
    default: 'warn',
    description:
      'where another host has lately used masters that could grant the lock beside ours: ' +
      'warn, error (exit 78) or ignore',
  },
  shared: {
    field: 'isShared',
    kind: 'boolean',
    default: 'false',
    description: 'hold the lock together with other shared holders',
    option: '-s, --shared',
    opposite: ['-x, --exclusive', 'hold the lock alone (default)'],
  },
  slots: {
    field: 'slotCount',
    kind: 'slots',
    defaultText: '1',
    description: 'at most this many holders at a time',
    option: '--slots N',
  },
  holdAtLeast: {
    kind: 'duration',
    default: '0s',
    description: 'keep the lock for at least this long after it was acquired',
    option: '--hold-at-least DUR',
  },
  holdOn: {
    kind: 'holdOn',
    default: 'always',
    description: 'after which runs holdAtLeast keeps the lock: success (exit code 0), or always',
    option: '--hold-on success|always',
  },
  reentrant: {
    field: 'isReentrant',
    kind: 'boolean',
    default: 'false',
    description: 'inside a run of the same name, run as part of that run instead of failing',
    option: '--reentrant',
  },
  fencing: {
    field: 'isFenced',
    kind: 'boolean',
    default: 'true',
    description: 'mint a fencing number (REDLOCK_FENCE)',
    opposite: ['--no-fence', 'do not mint a fencing number'],
  },
  history: {
    field: 'hasHistory',
    kind: 'boolean',
    default: 'true',
    description: 'store a line about the run on the masters',
    opposite: ['--no-history', 'store no line about the run on the masters'],
  },
  historyBytes: {
    kind: 'bytes',
    default: '64MB',
    description: 'what the histories of all locks under the prefix take on each master at most',
  },
  note: {
    kind: 'note',
    description: 'a line for people: why; shown with the holder, in queue, history and report',
    option: '--note TEXT',
  },
  label: {
    kind: 'note',
    defaultText: "the command's base name",
    description: "what the holder's line calls this run",
    option: '--label TEXT',
  },
} as const satisfies Section;

const waiting = {
  nonblock: {
    option: '-n, --nonblock',
    description: 'do not wait: exit 75 at once when the lock is held',
  },
  wait: {
    kind: 'wait',
    default: 'forever',
    description: 'wait at most this long for the lock; 0 tries once',
    option: '-w, --wait, --timeout DUR',
  },
  conflictExitCode: {
    kind: 'status',
    default: '75',
    description: 'exit status when the lock is held by someone else',
    option: '-E, --conflict-exit-code N',
  },
  giveUpAfter: {
    kind: 'duration',
    default: '10s',
    description: 'how long to retry when no quorum answers',
  },
  retryCount: {
    kind: 'count',
    description: 'retry this many times, without a position in the queue, instead of --wait',
    option: '--retry-count N',
  },
  retryDelay: {
    kind: 'duration',
    default: '200ms',
    description: 'pause between two attempts with retryCount',
    option: '--retry-delay DUR',
  },
  retryJitter: {
    kind: 'duration',
    default: '0s',
    description: 'random time, up to this, added to every retryDelay',
    option: '--retry-jitter DUR',
  },
  supersede: {
    field: 'isSuperseded',
    kind: 'boolean',
    default: 'false',
    description: 'the newest waiter wins: older ones with this setting leave the queue (exit 75)',
    option: '--supersede',
  },
  replace: {
    field: 'isReplaced',
    kind: 'boolean',
    default: 'false',
    description: 'as --supersede, and a holder with this setting is stopped first (exit 79)',
    option: '--replace',
  },
  maxWaiters: {
    kind: 'count',
    description: 'exit 75 at once when this many waiters are in the queue already',
    option: '--max-waiters N',
  },
  jitter: {
    kind: 'duration',
    default: '0s',
    description: 'sleep a random time, up to this, before the first attempt',
    option: '--jitter DUR',
  },
} as const satisfies Section;

const command = {
  command: {
    option: '-c, --command STRING',
    description: "run STRING by /bin/sh -c, as in -c 'a | b'",
  },
  maxRun: {
    kind: 'limit',
    default: 'none',
    description: 'stop the command when it has run this long; exit 124',
    option: '--max-run DUR',
  },
  signal: {
    field: 'stopSignal',
    kind: 'signal',
    default: 'TERM',
    description: 'the stop signal',
    option: '--signal SIG',
  },
  killAfter: {
    field: 'graceMs',
    kind: 'duration',
    defaultText: 'min(5s, ttl/3)',
    description: 'time between the stop signal and SIGKILL',
    option: '-k, --kill-after DUR',
  },
  onLost: {
    kind: 'text',
    description: 'a command to run once when the lock is lost',
    option: '--on-lost CMD',
  },
  notify: {
    kind: 'text',
    description: 'a command to run at waiting, acquired, busy, lost and released',
    option: '--notify CMD',
  },
  foreground: {
    kind: 'boolean',
    defaultText: 'by terminal',
    description: "keep the command in the caller's process group",
    option: '--foreground',
    opposite: ['--no-foreground', 'give the command a session of its own'],
  },
  keepBackground: {
    field: 'keepsBackground',
    kind: 'boolean',
    default: 'false',
    description: 'do not end leftover processes of a command that ended by itself',
    option: '--keep-background',
  },
  isolate: {
    field: 'isIsolated',
    kind: 'boolean',
    default: 'false',
    description: 'run the command in a PID namespace, which no process it starts can leave (Linux)',
    option: '--isolate',
  },
} as const satisfies Section;

const output = {
  quiet: {
    option: '-q, --quiet',
    description: 'say nothing but errors',
  },
  verbose: {
    option: '-v, --verbose',
    description: 'say everything',
  },
  logFormat: {
    kind: 'format',
    default: 'text',
    description: 'print events on stderr as text or as json',
    option: '--log-format FORMAT',
  },
  report: {
    option: '--report FILE',
    description: 'write one JSON object about the run',
  },
  dryRun: {
    option: '--dry-run',
    description: 'print what would be done, connect to nothing, exit 0',
  },
  help: {
    option: '-h, --help',
    description: 'print this help, exit 0',
  },
  version: {
    option: '-V, --version',
    description: 'print the version, exit 0',
  },
} as const satisfies Section;

const login = {
  username: {
    kind: 'text',
    description: 'ACL user for masters without one of their own',
  },
  password: {
    kind: 'text',
    description: 'password for masters without one of their own; prefer passwordFile',
  },
  passwordFile: {
    kind: 'path',
    description: 'file with the password for masters without one of their own',
  },
  passwordCommand: {
    kind: 'text',
    description: 'a shell command that prints the password, for passwords that change',
  },
  passwordTtl: {
    kind: 'span',
    defaultText: 'until a login is refused',
    description: 'how long the output of passwordCommand counts; shorter than a token lasts',
  },
  tls: {
    kind: 'tls',
    defaultText: 'the certificates that Node.js trusts',
    description: 'caFile, certFile, keyFile and servername for rediss:// masters',
  },
} as const satisfies Section;

const sections = {
  Lock: lock,
  Waiting: waiting,
  Command: command,
  Output: output,
  Login: login,
};
const table = { ...lock, ...waiting, ...command, ...output, ...login };

type Group = keyof typeof sections;
type Table = typeof table;
export type ConfigKey = {
  [Key in keyof Table]: Table[Key] extends { readonly kind: string } ? Key : never;
}[keyof Table];

/** Keys with one text as value. All have an environment twin. */
export type ScalarKey = Exclude<ConfigKey, 'masters' | 'tls'>;

/** Keys that are fields of `Settings`. The login is part of each master. */
export type SettingKey = Exclude<ScalarKey, keyof typeof login>;

type RowOf<Key extends SettingKey> = Table[Key];
type KindOf<Key extends SettingKey> = (typeof kinds)[RowOf<Key>['kind']];

/** null: there is none. */
export type ValueOf<Key extends SettingKey> =
  | ReturnType<KindOf<Key>['parse']>
  | (RowOf<Key> extends { readonly default: string } ? never : null);

export type FieldOf<Key extends SettingKey> =
  RowOf<Key> extends { readonly field: infer Field extends string }
    ? Field
    : `${Key}${KindOf<Key>['suffix']}`;

/** The values of these keys, by field. */
export type ValuesOf<Keys extends SettingKey> = {
  readonly [Key in Keys as FieldOf<Key>]: ValueOf<Key>;
};

export interface KeyRow extends SettingRow {
  readonly key: ConfigKey;
  readonly kind: ValueKind | 'masters' | 'tls';
}

/** The rows of the configuration file. */
export const keyTable = Object.entries<SettingRow>(table)
  .filter(([, { kind }]) => kind !== undefined)
  .map(([key, row]) => ({ key, ...row })) as readonly KeyRow[];

export const scalarKeys = keyTable.map(({ key }) => key).filter(isScalarKey);

export const settingKeys = scalarKeys.filter((key): key is SettingKey => !(key in login));

/** The keys that a master can have of its own. */
export const loginKeys = Object.keys(login);

export function kindOf<Key extends ScalarKey>(key: Key) {
  return kinds[table[key].kind];
}

export function fieldOf(key: SettingKey): string {
  return keyRow(key).field ?? key + kindOf(key).suffix;
}

/** One option of a command line. */
export interface OptionRow {
  /** As in --help: `-w, --wait, --timeout DUR`. */
  readonly flags: string;
  /** The first long spelling, by which it is known. */
  readonly long: string;
  /** All of them, also those that --help does not show. */
  readonly spellings: readonly string[];
  /** Name of the value; absent for a switch. */
  readonly argument?: string;
  readonly group: Group;
  /** With the default, where help has to say it. */
  readonly description: string;
  readonly isRepeatable: boolean;
  /** The configuration key that this option sets for one run. */
  readonly key?: ConfigKey;
  /** The value that a switch gives its key. */
  readonly value?: 'true' | 'false';
}

/** Further spellings, for those who come from flock(1); --help does not show them. */
const hidden: Readonly<Record<string, readonly string[]>> = {
  '--nonblock': ['--nb', '--nonblocking'],
  '--exclusive': ['-e'],
};

export function parseFlags(flags: string) {
  const words = flags.split(/,? /);
  const shown = words.filter((word) => word.startsWith('-'));
  const long = shown.find((word) => word.startsWith('--')) ?? '';
  const spelling = { flags, long, spellings: [...shown, ...(hidden[long] ?? [])] };
  const argument = words.find((word) => !word.startsWith('-'));
  return argument === undefined ? spelling : { ...spelling, argument };
}

/** The options of redlock-run. */
export const optionTable = Object.entries(sections).flatMap(([group, rows]) =>
  Object.entries<SettingRow>(rows).flatMap(([key, row]) => optionsOf(key, row, group)),
) as readonly OptionRow[];

function optionsOf(key: string, row: SettingRow, group: string) {
  const { option, opposite, kind } = row;
  const sets = { group, isRepeatable: kind === 'masters', ...(kind === undefined ? {} : { key }) };
  const on = option && { ...parseFlags(option), value: 'true', description: describe(row) };
  const [flags = '', description] = opposite ?? [];
  const off = opposite && { ...parseFlags(flags), value: 'false', description };
  return [on, off].flatMap((one) => (one ? [{ ...one, ...sets }] : []));
}

/** A switch that is off unless it is given needs no default. */
function describe(row: SettingRow): string {
  const description = inOptions(row.description);
  if (row.kind === undefined || row.default === 'false') return description;
  const notes = [...(row.kind === 'masters' ? ['repeat'] : []), `default: ${defaultText(row)}`];
  return `${description} (${notes.join('; ')})`;
}

/** A description names keys; on the command line these are options. */
function inOptions(description: string): string {
  return description.replace(
    /\b[a-z]+[A-Z]\w+/g,
    (key) => `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
  );
}

function defaultText(row: SettingRow): string {
  return row.defaultText ?? row.default ?? 'none';
}

/** The default in words. */
export function defaultTextOf(key: ConfigKey): string {
  return defaultText(keyRow(key));
}

/** The keys under `tls`. Their environment twins serve masters without a `tls` of their own. */
export const tlsKeys = ['caFile', 'certFile', 'keyFile', 'servername'] as const;
export type TlsKey = (typeof tlsKeys)[number];

/** The environment twin of a key: `masterTimeout` is REDLOCK_MASTER_TIMEOUT. */
export function environmentName(key: ConfigKey | TlsKey): string {
  return `REDLOCK_${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

export function isScalarKey(key: ConfigKey): key is ScalarKey {
  return key !== 'masters' && key !== 'tls';
}

export function keyRow(key: ConfigKey): SettingRow {
  return table[key];
}
