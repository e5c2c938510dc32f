// The one table of every option and of every configuration key. --help, the environment twins, the settings and the tests
// of .redlockrc.example and of the README are made from it or checked against it. It decides nothing: values.ts reads the
// texts. The surprise: an alias (--timeout, --nb) is a row of its own that writes to the place of the option it stands for.

/** How the text of a value is read: see values.ts. `limit` is a duration or `none`, `patience` a duration or `forever`. */
export type ValueKind =
  | 'duration'
  | 'patience'
  | 'limit'
  | 'status'
  | 'signal'
  | 'format'
  | 'boolean'
  | 'text'
  | 'path'
  | 'masters'
  | 'tls';

interface KeyRow {
  readonly key: string;
  readonly kind: ValueKind;
  /** The default as a user would write it; null when there is none, or when it is computed from other values. */
  readonly default: string | null;
  /** What help and example say; must be given where `default` is null. */
  readonly defaultText?: string;
  readonly description: string;
}

export const keyTable = [
  {
    key: 'masters',
    kind: 'masters',
    default: null,
    defaultText: 'none',
    description: 'the Redis masters: independent servers, an odd number',
  },
  { key: 'local', kind: 'boolean', default: 'false', description: 'masters of this user on this machine instead' },
  {
    key: 'localDirectory',
    kind: 'path',
    default: null,
    defaultText: 'a directory of this user',
    description: 'where the local masters keep their sockets and files',
  },
  { key: 'prefix', kind: 'text', default: 'redlock:', description: 'what every key on the masters begins with' },
  { key: 'ttl', kind: 'duration', default: '30s', description: 'lock validity, extended while the command runs' },
  {
    key: 'masterTimeout',
    kind: 'duration',
    default: null,
    defaultText: 'ttl/20, at least 50ms, at most 2s',
    description: 'how long one master may take to answer',
  },
  { key: 'giveUpAfter', kind: 'duration', default: '10s', description: 'how long to go on when no quorum answers' },
  {
    key: 'killAfter',
    kind: 'duration',
    default: null,
    defaultText: 'min(5s, ttl/3)',
    description: 'time between the stop signal and SIGKILL',
  },
  { key: 'signal', kind: 'signal', default: 'TERM', description: 'the stop signal' },
  { key: 'wait', kind: 'patience', default: 'forever', description: 'wait at most so long for the lock; 0 tries once' },
  {
    key: 'conflictExitCode',
    kind: 'status',
    default: '75',
    description: 'exit status when the lock is held by someone else',
  },
  { key: 'jitter', kind: 'duration', default: '0s', description: 'sleep a random time up to this before starting' },
  {
    key: 'holdAtLeast',
    kind: 'duration',
    default: '0s',
    description: 'keep the lock until so long after it was taken',
  },
  { key: 'maxRun', kind: 'limit', default: 'none', description: 'stop the command when it has run so long; exit 124' },
  {
    key: 'restartGrace',
    kind: 'duration',
    default: null,
    defaultText: 'the ttl, with three masters or more',
    description: 'how long a master that restarted does not vote; 0 turns it off',
  },
  { key: 'fencing', kind: 'boolean', default: 'true', description: 'mint a fencing number (REDLOCK_FENCE)' },
  { key: 'history', kind: 'boolean', default: 'true', description: 'leave a line about the run on the masters' },
  { key: 'onLost', kind: 'text', default: null, defaultText: 'none', description: 'run once when the lock is lost' },
  {
    key: 'foreground',
    kind: 'boolean',
    default: null,
    defaultText: 'by terminal',
    description: "keep the command in the caller's process group",
  },
  {
    key: 'keepBackground',
    kind: 'boolean',
    default: 'false',
    description: 'leave processes that the command left behind when it ended well',
  },
  {
    key: 'isolate',
    kind: 'boolean',
    default: 'false',
    description: 'run the command in a PID namespace, from which nothing it starts can get out (Linux)',
  },
  { key: 'logFormat', kind: 'format', default: 'text', description: 'events on stderr as text or as json' },
  {
    key: 'username',
    kind: 'text',
    default: null,
    defaultText: 'none',
    description: 'ACL user for masters that name none',
  },
  {
    key: 'password',
    kind: 'text',
    default: null,
    defaultText: 'none',
    description: 'password for masters that have none; better from a passwordFile',
  },
  {
    key: 'passwordFile',
    kind: 'path',
    default: null,
    defaultText: 'none',
    description: 'file with the password for masters that have none',
  },
  {
    key: 'tls',
    kind: 'tls',
    default: null,
    defaultText: 'the certificates that Node.js trusts',
    description: 'caFile, certFile, keyFile and servername for rediss:// masters',
  },
] as const satisfies readonly KeyRow[];

export type ConfigKey = (typeof keyTable)[number]['key'];
/** Keys with one text as value: the ones with an environment twin, besides REDLOCK_MASTERS. */
export type ScalarKey = Exclude<ConfigKey, 'masters' | 'tls'>;

export type OptionGroup = 'Lock' | 'Waiting' | 'Command' | 'Output';

export interface OptionRow {
  readonly group: OptionGroup;
  readonly short?: string;
  readonly long: string;
  /** Name of the value in help; absent for a switch. */
  readonly argument?: string;
  readonly description: string;
  /** The configuration key that this option sets for one run. */
  readonly key?: ConfigKey;
  /** Other spellings; with `hiddenAliases` they work but are in no help. */
  readonly aliases?: readonly string[];
  readonly hiddenAliases?: readonly string[];
  readonly repeatable?: true;
  /** What a switch says of its key, where that is not `true`. */
  readonly says?: 'false';
}

export const optionTable: readonly OptionRow[] = [
  { group: 'Lock', long: '--ttl', argument: 'DUR', key: 'ttl', description: describe('ttl') },
  {
    group: 'Lock',
    long: '--master',
    argument: 'URL',
    key: 'masters',
    repeatable: true,
    description:
      'a master: redis://[user[:pass]@]host[:port][/db], rediss://, unix:///path (repeat; default from config)',
  },
  {
    group: 'Lock',
    long: '--config',
    argument: 'FILE',
    description: 'the configuration file (default: search .redlockrc)',
  },
  { group: 'Lock', long: '--local', key: 'local', description: describe('local') },
  { group: 'Lock', long: '--prefix', argument: 'STR', key: 'prefix', description: describe('prefix') },
  {
    group: 'Lock',
    long: '--hold-at-least',
    argument: 'DUR',
    key: 'holdAtLeast',
    description: describe('holdAtLeast'),
  },
  {
    group: 'Lock',
    long: '--no-fence',
    key: 'fencing',
    says: 'false',
    description: 'do not mint a fencing number',
  },
  {
    group: 'Lock',
    long: '--no-history',
    key: 'history',
    says: 'false',
    description: 'leave no line about the run on the masters',
  },
  {
    group: 'Waiting',
    short: '-n',
    long: '--nonblock',
    hiddenAliases: ['--nb', '--nonblocking'],
    description: 'do not wait: exit 75 at once when the lock is held',
  },
  {
    group: 'Waiting',
    short: '-w',
    long: '--wait',
    aliases: ['--timeout'],
    argument: 'DUR',
    key: 'wait',
    description: describe('wait'),
  },
  {
    group: 'Waiting',
    short: '-E',
    long: '--conflict-exit-code',
    argument: 'N',
    key: 'conflictExitCode',
    description: describe('conflictExitCode'),
  },
  { group: 'Waiting', long: '--jitter', argument: 'DUR', key: 'jitter', description: describe('jitter') },
  {
    group: 'Command',
    short: '-c',
    long: '--command',
    argument: 'STRING',
    description: "run STRING by /bin/sh -c, as in -c 'a | b'",
  },
  { group: 'Command', long: '--max-run', argument: 'DUR', key: 'maxRun', description: describe('maxRun') },
  { group: 'Command', long: '--signal', argument: 'SIG', key: 'signal', description: describe('signal') },
  {
    group: 'Command',
    short: '-k',
    long: '--kill-after',
    argument: 'DUR',
    key: 'killAfter',
    description: describe('killAfter'),
  },
  { group: 'Command', long: '--on-lost', argument: 'CMD', key: 'onLost', description: describe('onLost') },
  { group: 'Command', long: '--foreground', key: 'foreground', description: describe('foreground') },
  {
    group: 'Command',
    long: '--no-foreground',
    key: 'foreground',
    says: 'false',
    description: 'give the command a session of its own',
  },
  {
    group: 'Command',
    long: '--keep-background',
    key: 'keepBackground',
    description: keyRow('keepBackground').description,
  },
  { group: 'Command', long: '--isolate', key: 'isolate', description: keyRow('isolate').description },
  { group: 'Output', short: '-q', long: '--quiet', description: 'say nothing but errors' },
  { group: 'Output', short: '-v', long: '--verbose', description: 'say everything' },
  { group: 'Output', long: '--log-format', argument: 'FORMAT', key: 'logFormat', description: describe('logFormat') },
  { group: 'Output', long: '--report', argument: 'FILE', description: 'write one JSON object about the run' },
  { group: 'Output', long: '--dry-run', description: 'print what would be done, connect to nothing, exit 0' },
  { group: 'Output', short: '-h', long: '--help', description: 'print this help, exit 0' },
  { group: 'Output', short: '-V', long: '--version', description: 'print the version, exit 0' },
];

/** The environment twin of a key: `masterTimeout` is REDLOCK_MASTER_TIMEOUT. */
export function environmentName(key: ConfigKey): string {
  return `REDLOCK_${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

export function isScalarKey(key: ConfigKey): key is ScalarKey {
  return key !== 'masters' && key !== 'tls';
}

/** The option that sets a key, `--ttl` for `ttl`; undefined for keys that only files and the environment set. */
export function optionOf(key: ConfigKey): OptionRow | undefined {
  return optionTable.find((row) => row.key === key);
}

/** The row of a key, widened, so that optional fields can be asked for. */
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

function describe(key: ConfigKey): string {
  const standing = key === 'local' ? '' : ` (default: ${defaultTextOf(key)})`;
  return `${keyRow(key).description}${standing}`;
}
