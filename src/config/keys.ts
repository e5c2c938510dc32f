// The table of all configuration keys: name, kind, default, description. The environment twins, the
// settings and the man pages are made from it; .redlockrc.example is compared with it. A default is
// written as a user would write it, and read like any other text.

/**
 * How the text of a value is read: see values.ts. `limit` is a duration or `none`, `patience` is a
 * duration or `forever`.
 */
export type ValueKind =
  | 'duration'
  | 'patience'
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

export interface KeyRow {
  readonly key: string;
  readonly kind: ValueKind;
  /** The default; null when there is none, or when it is computed from other values. */
  readonly default: string | null;
  /** The default as help and example say it; must be given where `default` is null. */
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
  {
    key: 'local',
    kind: 'boolean',
    default: 'false',
    description: 'use masters of this user on this machine',
  },
  {
    key: 'localDirectory',
    kind: 'path',
    default: null,
    defaultText: 'a directory of this user',
    description: 'where the local masters keep their sockets and files',
  },
  {
    key: 'prefix',
    kind: 'text',
    default: 'redlock:',
    description: 'what every key on the masters begins with',
  },
  {
    key: 'protocol',
    kind: 'protocol',
    default: 'redlock',
    description:
      'what the key holds: redlock; or setnx or setnx-ms, on one master shared with older programs',
  },
  {
    key: 'ttl',
    kind: 'duration',
    default: '30s',
    description: 'lock validity, extended while the command runs',
  },
  {
    key: 'masterTimeout',
    kind: 'duration',
    default: null,
    defaultText: 'ttl/20, at least 50ms, at most 2s',
    description: 'how long one master may take to answer',
  },
  {
    key: 'giveUpAfter',
    kind: 'duration',
    default: '10s',
    description: 'how long to retry when no quorum answers',
  },
  {
    key: 'killAfter',
    kind: 'duration',
    default: null,
    defaultText: 'min(5s, ttl/3)',
    description: 'time between the stop signal and SIGKILL',
  },
  { key: 'signal', kind: 'signal', default: 'TERM', description: 'the stop signal' },
  {
    key: 'wait',
    kind: 'patience',
    default: 'forever',
    description: 'wait at most this long for the lock; 0 tries once',
  },
  {
    key: 'conflictExitCode',
    kind: 'status',
    default: '75',
    description: 'exit status when the lock is held by someone else',
  },
  {
    key: 'retryCount',
    kind: 'count',
    default: null,
    defaultText: 'none',
    description: 'retry this many times, without a position in the queue, instead of --wait',
  },
  {
    key: 'retryDelay',
    kind: 'duration',
    default: '200ms',
    description: 'pause between two attempts with retryCount',
  },
  {
    key: 'retryJitter',
    kind: 'duration',
    default: '0s',
    description: 'random time, up to this, added to every retryDelay',
  },
  {
    key: 'jitter',
    kind: 'duration',
    default: '0s',
    description: 'sleep a random time, up to this, before the first attempt',
  },
  {
    key: 'holdAtLeast',
    kind: 'duration',
    default: '0s',
    description: 'keep the lock for at least this long after it was acquired',
  },
  {
    key: 'holdOn',
    kind: 'holdOn',
    default: 'always',
    description: 'after which runs holdAtLeast keeps the lock: success (exit code 0), or always',
  },
  {
    key: 'shared',
    kind: 'boolean',
    default: 'false',
    description: 'hold the lock together with other shared holders',
  },
  { key: 'slots', kind: 'slots', default: '1', description: 'at most this many holders at a time' },
  {
    key: 'supersede',
    kind: 'boolean',
    default: 'false',
    description: 'the newest waiter wins: older waiters with this setting give up (exit 75)',
  },
  {
    key: 'replace',
    kind: 'boolean',
    default: 'false',
    description: 'as supersede, and a holder with this setting is stopped first (exit 79)',
  },
  {
    key: 'maxWaiters',
    kind: 'count',
    default: null,
    defaultText: 'none',
    description: 'exit 75 at once when this many waiters are in the queue already',
  },
  {
    key: 'maxRun',
    kind: 'limit',
    default: 'none',
    description: 'stop the command when it has run this long; exit 124',
  },
  {
    key: 'restartGrace',
    kind: 'duration',
    default: null,
    defaultText: 'the ttl, with three masters or more',
    description: 'how long a master does not vote after a restart, or empty; 0 turns this off',
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
    key: 'fencing',
    kind: 'boolean',
    default: 'true',
    description: 'mint a fencing number (REDLOCK_FENCE)',
  },
  {
    key: 'history',
    kind: 'boolean',
    default: 'true',
    description: 'store a line about the run on the masters',
  },
  {
    key: 'historyBytes',
    kind: 'bytes',
    default: '64MB',
    description: 'what the histories of all locks under the prefix take on each master at most',
  },
  {
    key: 'note',
    kind: 'text',
    default: null,
    defaultText: 'none',
    description: 'a line for people: why; shown with the holder, in queue, history and report',
  },
  {
    key: 'label',
    kind: 'text',
    default: null,
    defaultText: "the command's base name",
    description: "what the holder's line calls this run",
  },
  {
    key: 'reentrant',
    kind: 'boolean',
    default: 'false',
    description: 'inside a run of the same name, run under the lock of that run instead of failing',
  },
  {
    key: 'onLost',
    kind: 'text',
    default: null,
    defaultText: 'none',
    description: 'a command to run once when the lock is lost',
  },
  {
    key: 'notify',
    kind: 'text',
    default: null,
    defaultText: 'none',
    description: 'a command to run at waiting, acquired, busy, lost and released',
  },
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
    description: 'do not end leftover processes of a command that ended by itself',
  },
  {
    key: 'isolate',
    kind: 'boolean',
    default: 'false',
    description: 'run the command in a PID namespace, which no process it starts can leave (Linux)',
  },
  {
    key: 'logFormat',
    kind: 'format',
    default: 'text',
    description: 'print events on stderr as text or as json',
  },
  {
    key: 'username',
    kind: 'text',
    default: null,
    defaultText: 'none',
    description: 'ACL user for masters without one of their own',
  },
  {
    key: 'password',
    kind: 'text',
    default: null,
    defaultText: 'none',
    description: 'password for masters without one of their own; prefer passwordFile',
  },
  {
    key: 'passwordFile',
    kind: 'path',
    default: null,
    defaultText: 'none',
    description: 'file with the password for masters without one of their own',
  },
  {
    key: 'passwordCommand',
    kind: 'text',
    default: null,
    defaultText: 'none',
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
] as const satisfies readonly KeyRow[];

export type ConfigKey = (typeof keyTable)[number]['key'];
/** The keys under `tls`. Their environment twins serve masters without a `tls` of their own. */
export const tlsKeys = ['caFile', 'certFile', 'keyFile', 'servername'] as const;
export type TlsKey = (typeof tlsKeys)[number];

/** Keys with one text as value. All have an environment twin. */
export type ScalarKey = Exclude<ConfigKey, 'masters' | 'tls'>;

export type LayerName = 'flag' | 'environment' | 'file';

/** A text that one layer gives for one key. */
export interface Given {
  readonly text: string;
  readonly layer: LayerName;
  /** Where it came from: `flag --ttl`, `environment REDLOCK_TTL`, `/etc/redlockrc:3`. */
  readonly source: string;
  /** What an error message begins with: `--ttl`, `REDLOCK_TTL`, `/etc/redlockrc:3: ttl`. */
  readonly subject: string;
  /** The directory that relative paths start from. */
  readonly base: string;
}

/** The texts that one source gives. */
export type Layer = ReadonlyMap<ScalarKey, Given>;

/** The environment twin of a key: `masterTimeout` is REDLOCK_MASTER_TIMEOUT. */
export function environmentName(key: ConfigKey | TlsKey): string {
  return `REDLOCK_${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

export function isScalarKey(key: ConfigKey): key is ScalarKey {
  return key !== 'masters' && key !== 'tls';
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
