// The one table of all settings: the key of the configuration file, the option, the kind of value,
// the default, and one description. From it follow the variables in the environment, --help, the
// man pages, completion and what the command line accepts; .redlockrc.example and docs/reference.md
// are compared with it. A default is written as a user would write it, and read like any other
// text.

/**
 * How the text of a value is read: see values.ts. `limit` is a duration or `none`, `wait` is a
 * duration or `forever`.
 */
export type ValueKind =
  | 'duration'
  | 'wait'
  | 'limit'
  | 'count'
  | 'slots'
  | 'holdOn'
  | 'reaction'
  | 'bytes'
  | 'status'
  | 'signal'
  | 'format'
  | 'protocol'
  | 'boolean'
  | 'text'
  | 'path'
  | 'masters'
  | 'tls';

/** How an option is spelt. */
interface Spelling {
  readonly short?: string;
  readonly long: string;
  /** Other spellings. Those in `hiddenAliases` work, but --help does not show them. */
  readonly aliases?: readonly string[];
  readonly hiddenAliases?: readonly string[];
  /** Name of the value in help; absent for a switch. */
  readonly argument?: string;
  readonly repeatable?: true;
}

type OptionGroup = 'Lock' | 'Waiting' | 'Command' | 'Output';

interface SettingRow {
  /** Where its options stand in help; absent: it has none. */
  readonly group?: OptionGroup;
  /** The key of the configuration file; absent: it is for one run only. */
  readonly key?: string;
  readonly kind?: ValueKind;
  /** The default; null when there is none, or when it is computed from other values. */
  readonly default?: string | null;
  /** The default in words, where `default` does not say it; absent with null: none. */
  readonly defaultText?: string;
  /** Empty text is a value of its own; absent: an empty variable counts as unset. */
  readonly mayBeEmpty?: true;
  readonly description: string;
  /** Sets the key for one run; a switch sets it to true. */
  readonly option?: Spelling;
  /** A switch that sets the key to false. */
  readonly opposite?: Spelling & { readonly description: string };
}

/** In the order of help and of redlockrc(5). */
const settingTable = [
  {
    group: 'Lock',
    key: 'ttl',
    kind: 'duration',
    default: '30s',
    description: 'lock validity, extended while the command runs',
    option: { long: '--ttl', argument: 'DUR' },
  },
  {
    group: 'Lock',
    key: 'masters',
    kind: 'masters',
    default: null,
    description:
      'a master: redis://[user[:pass]@]host[:port][/db], ' +
      'rediss://, unix:///path or ' +
      'redis+sentinel://[user[:pass]@]host:port,.../NAME[/db]',
    option: { long: '--master', argument: 'URL', repeatable: true },
  },
  {
    group: 'Lock',
    option: { long: '--config', argument: 'FILE' },
    description: 'the configuration file (default: search .redlockrc)',
  },
  {
    group: 'Lock',
    key: 'local',
    kind: 'boolean',
    default: 'false',
    description: 'use masters of this user on this machine',
    option: { long: '--local' },
  },
  {
    key: 'localDirectory',
    kind: 'path',
    default: null,
    defaultText: 'a directory of this user',
    description: 'where the local masters keep their sockets and files',
  },
  {
    group: 'Lock',
    key: 'prefix',
    kind: 'text',
    default: 'redlock:',
    mayBeEmpty: true,
    description: "what every key on the masters begins with; '' for the bare NAME",
    option: { long: '--prefix', argument: 'STR' },
  },
  {
    key: 'protocol',
    kind: 'protocol',
    default: 'redlock',
    description:
      'what the key holds: redlock; or setnx or setnx-ms, on one master shared with older programs',
  },
  {
    key: 'masterTimeout',
    kind: 'duration',
    default: null,
    defaultText: 'ttl/20, at least 50ms, at most 2s',
    description: 'how long one master may take to answer',
  },
  {
    key: 'restartGrace',
    kind: 'duration',
    default: null,
    defaultText: 'the ttl, with three masters or more, or behind sentinels',
    description:
      'how long a master does not vote after a restart, or empty (set the longest ttl in use); ' +
      '0 turns this off, as --local does',
  },
  {
    key: 'differingMasters',
    kind: 'reaction',
    default: 'warn',
    description:
      'where another host has lately used masters that could grant the lock beside ours: ' +
      'warn, error (exit 78) or ignore',
  },
  {
    group: 'Lock',
    key: 'shared',
    kind: 'boolean',
    default: 'false',
    description: 'hold the lock together with other shared holders',
    option: { short: '-s', long: '--shared' },
    opposite: {
      short: '-x',
      long: '--exclusive',
      hiddenAliases: ['-e'],
      description: 'hold the lock alone (default)',
    },
  },
  {
    group: 'Lock',
    key: 'slots',
    kind: 'slots',
    default: '1',
    description: 'at most this many holders at a time',
    option: { long: '--slots', argument: 'N' },
  },
  {
    group: 'Lock',
    key: 'holdAtLeast',
    kind: 'duration',
    default: '0s',
    description: 'keep the lock for at least this long after it was acquired',
    option: { long: '--hold-at-least', argument: 'DUR' },
  },
  {
    group: 'Lock',
    key: 'holdOn',
    kind: 'holdOn',
    default: 'always',
    description: 'after which runs holdAtLeast keeps the lock: success (exit code 0), or always',
    option: { long: '--hold-on', argument: 'success|always' },
  },
  {
    group: 'Lock',
    key: 'reentrant',
    kind: 'boolean',
    default: 'false',
    description: 'inside a run of the same name, run under the lock of that run instead of failing',
    option: { long: '--reentrant' },
  },
  {
    group: 'Lock',
    key: 'fencing',
    kind: 'boolean',
    default: 'true',
    description: 'mint a fencing number (REDLOCK_FENCE)',
    opposite: { long: '--no-fence', description: 'do not mint a fencing number' },
  },
  {
    group: 'Lock',
    key: 'history',
    kind: 'boolean',
    default: 'true',
    description: 'store a line about the run on the masters',
    opposite: { long: '--no-history', description: 'store no line about the run on the masters' },
  },
  {
    key: 'historyBytes',
    kind: 'bytes',
    default: '64MB',
    description: 'what the histories of all locks under the prefix take on each master at most',
  },
  {
    group: 'Lock',
    key: 'note',
    kind: 'text',
    default: null,
    description: 'a line for people: why; shown with the holder, in queue, history and report',
    option: { long: '--note', argument: 'TEXT' },
  },
  {
    group: 'Lock',
    key: 'label',
    kind: 'text',
    default: null,
    defaultText: "the command's base name",
    description: "what the holder's line calls this run",
    option: { long: '--label', argument: 'TEXT' },
  },
  {
    group: 'Waiting',
    option: { short: '-n', long: '--nonblock', hiddenAliases: ['--nb', '--nonblocking'] },
    description: 'do not wait: exit 75 at once when the lock is held',
  },
  {
    group: 'Waiting',
    key: 'wait',
    kind: 'wait',
    default: 'forever',
    description: 'wait at most this long for the lock; 0 tries once',
    option: { short: '-w', long: '--wait', aliases: ['--timeout'], argument: 'DUR' },
  },
  {
    group: 'Waiting',
    key: 'conflictExitCode',
    kind: 'status',
    default: '75',
    description: 'exit status when the lock is held by someone else',
    option: { short: '-E', long: '--conflict-exit-code', argument: 'N' },
  },
  {
    key: 'giveUpAfter',
    kind: 'duration',
    default: '10s',
    description: 'how long to retry when no quorum answers',
  },
  {
    group: 'Waiting',
    key: 'retryCount',
    kind: 'count',
    default: null,
    description: 'retry this many times, without a position in the queue, instead of --wait',
    option: { long: '--retry-count', argument: 'N' },
  },
  {
    group: 'Waiting',
    key: 'retryDelay',
    kind: 'duration',
    default: '200ms',
    description: 'pause between two attempts with retryCount',
    option: { long: '--retry-delay', argument: 'DUR' },
  },
  {
    group: 'Waiting',
    key: 'retryJitter',
    kind: 'duration',
    default: '0s',
    description: 'random time, up to this, added to every retryDelay',
    option: { long: '--retry-jitter', argument: 'DUR' },
  },
  {
    group: 'Waiting',
    key: 'supersede',
    kind: 'boolean',
    default: 'false',
    description: 'the newest waiter wins: older ones with this setting leave the queue (exit 75)',
    option: { long: '--supersede' },
  },
  {
    group: 'Waiting',
    key: 'replace',
    kind: 'boolean',
    default: 'false',
    description: 'as supersede, and a holder with this setting is stopped first (exit 79)',
    option: { long: '--replace' },
  },
  {
    group: 'Waiting',
    key: 'maxWaiters',
    kind: 'count',
    default: null,
    description: 'exit 75 at once when this many waiters are in the queue already',
    option: { long: '--max-waiters', argument: 'N' },
  },
  {
    group: 'Waiting',
    key: 'jitter',
    kind: 'duration',
    default: '0s',
    description: 'sleep a random time, up to this, before the first attempt',
    option: { long: '--jitter', argument: 'DUR' },
  },
  {
    group: 'Command',
    option: { short: '-c', long: '--command', argument: 'STRING' },
    description: "run STRING by /bin/sh -c, as in -c 'a | b'",
  },
  {
    group: 'Command',
    key: 'maxRun',
    kind: 'limit',
    default: 'none',
    description: 'stop the command when it has run this long; exit 124',
    option: { long: '--max-run', argument: 'DUR' },
  },
  {
    group: 'Command',
    key: 'signal',
    kind: 'signal',
    default: 'TERM',
    description: 'the stop signal',
    option: { long: '--signal', argument: 'SIG' },
  },
  {
    group: 'Command',
    key: 'killAfter',
    kind: 'duration',
    default: null,
    defaultText: 'min(5s, ttl/3)',
    description: 'time between the stop signal and SIGKILL',
    option: { short: '-k', long: '--kill-after', argument: 'DUR' },
  },
  {
    group: 'Command',
    key: 'onLost',
    kind: 'text',
    default: null,
    description: 'a command to run once when the lock is lost',
    option: { long: '--on-lost', argument: 'CMD' },
  },
  {
    group: 'Command',
    key: 'notify',
    kind: 'text',
    default: null,
    description: 'a command to run at waiting, acquired, busy, lost and released',
    option: { long: '--notify', argument: 'CMD' },
  },
  {
    group: 'Command',
    key: 'foreground',
    kind: 'boolean',
    default: null,
    defaultText: 'by terminal',
    description: "keep the command in the caller's process group",
    option: { long: '--foreground' },
    opposite: { long: '--no-foreground', description: 'give the command a session of its own' },
  },
  {
    group: 'Command',
    key: 'keepBackground',
    kind: 'boolean',
    default: 'false',
    description: 'do not end leftover processes of a command that ended by itself',
    option: { long: '--keep-background' },
  },
  {
    group: 'Command',
    key: 'isolate',
    kind: 'boolean',
    default: 'false',
    description: 'run the command in a PID namespace, which no process it starts can leave (Linux)',
    option: { long: '--isolate' },
  },
  {
    group: 'Output',
    option: { short: '-q', long: '--quiet' },
    description: 'say nothing but errors',
  },
  {
    group: 'Output',
    option: { short: '-v', long: '--verbose' },
    description: 'say everything',
  },
  {
    group: 'Output',
    key: 'logFormat',
    kind: 'format',
    default: 'text',
    description: 'print events on stderr as text or as json',
    option: { long: '--log-format', argument: 'FORMAT' },
  },
  {
    group: 'Output',
    option: { long: '--report', argument: 'FILE' },
    description: 'write one JSON object about the run',
  },
  {
    group: 'Output',
    option: { long: '--dry-run' },
    description: 'print what would be done, connect to nothing, exit 0',
  },
  {
    group: 'Output',
    option: { short: '-h', long: '--help' },
    description: 'print this help, exit 0',
  },
  {
    group: 'Output',
    option: { short: '-V', long: '--version' },
    description: 'print the version, exit 0',
  },
  {
    key: 'username',
    kind: 'text',
    default: null,
    description: 'ACL user for masters without one of their own',
  },
  {
    key: 'password',
    kind: 'text',
    default: null,
    description: 'password for masters without one of their own; prefer passwordFile',
  },
  {
    key: 'passwordFile',
    kind: 'path',
    default: null,
    description: 'file with the password for masters without one of their own',
  },
  {
    key: 'passwordCommand',
    kind: 'text',
    default: null,
    description: 'a shell command that prints the password, for passwords that change',
  },
  {
    key: 'passwordTtl',
    kind: 'duration',
    default: null,
    defaultText: 'until a login is refused',
    description: 'how long the output of passwordCommand counts; shorter than a token lasts',
  },
  {
    key: 'tls',
    kind: 'tls',
    default: null,
    defaultText: 'the certificates that Node.js trusts',
    description: 'caFile, certFile, keyFile and servername for rediss:// masters',
  },
] as const satisfies readonly SettingRow[];

type KeyedRow = Extract<(typeof settingTable)[number], { readonly key: string }>;
export type ConfigKey = KeyedRow['key'];

export interface KeyRow extends SettingRow {
  readonly key: ConfigKey;
  readonly kind: ValueKind;
  readonly default: string | null;
}

/** The rows of the configuration file. */
export const keyTable: readonly KeyRow[] = settingTable.filter((row) => 'key' in row);

/** One option of a command line. */
export interface OptionRow extends Spelling {
  readonly group: OptionGroup;
  /** With the default, where help has to say it. */
  readonly description: string;
  /** The configuration key that this option sets for one run. */
  readonly key?: ConfigKey;
  /** The value that a switch gives its key, where that is not `true`. */
  readonly says?: 'false';
}

/** The options of redlock-run. */
export const optionTable: readonly OptionRow[] = settingTable.flatMap(optionsOf);

function optionsOf(row: SettingRow & { readonly key?: ConfigKey }): OptionRow[] {
  const { group, key, option, opposite } = row;
  if (group === undefined) return [];
  const sets = key === undefined ? {} : { key };
  return [
    ...(option ? [{ ...option, ...sets, group, description: describe(row) }] : []),
    ...(opposite ? [{ ...opposite, ...sets, group, says: 'false' as const }] : []),
  ];
}

/** A switch that is off unless it is given needs no default. */
function describe(row: SettingRow): string {
  const description = inOptions(row.description);
  if (row.key === undefined || row.default === 'false') return description;
  const notes = [
    ...(row.option?.repeatable ? ['repeat'] : []),
    `default: ${row.defaultText ?? row.default ?? 'none'}`,
  ];
  return `${description} (${notes.join('; ')})`;
}

/** A description names keys; on the command line these are options. */
function inOptions(description: string): string {
  return description.replace(
    /\b[a-z]+[A-Z]\w+/g,
    (key) => `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
  );
}

/** The keys under `tls`. Their environment twins serve masters without a `tls` of their own. */
export const tlsKeys = ['caFile', 'certFile', 'keyFile', 'servername'] as const;
export type TlsKey = (typeof tlsKeys)[number];

/** Keys with one text as value. All have an environment twin. */
export type ScalarKey = Exclude<ConfigKey, 'masters' | 'tls'>;

/** The environment twin of a key: `masterTimeout` is REDLOCK_MASTER_TIMEOUT. */
export function environmentName(key: ConfigKey | TlsKey): string {
  return `REDLOCK_${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

export function isScalarKey(key: ConfigKey): key is ScalarKey {
  return key !== 'masters' && key !== 'tls';
}

export function keyRow(key: ConfigKey): KeyRow {
  const row = keyTable.find((candidate) => candidate.key === key);
  if (row === undefined) throw new TypeError(`no such key: ${key}`);
  return row;
}

/** The default in words. */
export function defaultTextOf(key: ConfigKey): string {
  const row = keyRow(key);
  return row.defaultText ?? row.default ?? 'none';
}
