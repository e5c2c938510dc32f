// The table of all options of redlock-run. The command line is parsed by it, --help and the man
// page are made from it, and the docs/reference.md is compared with it.

import { type ConfigKey, defaultTextOf, keyRow } from './keys.ts';

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
  /** Other spellings. Those in `hiddenAliases` work, but --help does not show them. */
  readonly aliases?: readonly string[];
  readonly hiddenAliases?: readonly string[];
  readonly repeatable?: true;
  /** The value that a switch gives its key, where that is not `true`. */
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
      'a master: redis://[user[:pass]@]host[:port][/db], rediss://, unix:///path or ' +
      'redis+sentinel://[user[:pass]@]host:port,.../NAME[/db] (repeat; default from config)',
  },
  {
    group: 'Lock',
    long: '--config',
    argument: 'FILE',
    description: 'the configuration file (default: search .redlockrc)',
  },
  { group: 'Lock', long: '--local', key: 'local', description: describe('local') },
  {
    group: 'Lock',
    long: '--prefix',
    argument: 'STR',
    key: 'prefix',
    description: describe('prefix'),
  },
  {
    group: 'Lock',
    short: '-s',
    long: '--shared',
    key: 'shared',
    description: inOptions(keyRow('shared').description),
  },
  {
    group: 'Lock',
    short: '-x',
    long: '--exclusive',
    key: 'shared',
    says: 'false',
    // flock(1) has -e, as in the -en of its own example.
    hiddenAliases: ['-e'],
    description: 'hold the lock alone (default)',
  },
  { group: 'Lock', long: '--slots', argument: 'N', key: 'slots', description: describe('slots') },
  {
    group: 'Lock',
    long: '--hold-at-least',
    argument: 'DUR',
    key: 'holdAtLeast',
    description: describe('holdAtLeast'),
  },
  {
    group: 'Lock',
    long: '--hold-on',
    argument: 'success|always',
    key: 'holdOn',
    description: describe('holdOn'),
  },
  {
    group: 'Lock',
    long: '--reentrant',
    key: 'reentrant',
    description: inOptions(keyRow('reentrant').description),
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
    description: 'store no line about the run on the masters',
  },
  { group: 'Lock', long: '--note', argument: 'TEXT', key: 'note', description: describe('note') },
  {
    group: 'Lock',
    long: '--label',
    argument: 'TEXT',
    key: 'label',
    description: describe('label'),
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
  {
    group: 'Waiting',
    long: '--retry-count',
    argument: 'N',
    key: 'retryCount',
    description: describe('retryCount'),
  },
  {
    group: 'Waiting',
    long: '--retry-delay',
    argument: 'DUR',
    key: 'retryDelay',
    description: describe('retryDelay'),
  },
  {
    group: 'Waiting',
    long: '--retry-jitter',
    argument: 'DUR',
    key: 'retryJitter',
    description: describe('retryJitter'),
  },
  {
    group: 'Waiting',
    long: '--supersede',
    key: 'supersede',
    description: inOptions(keyRow('supersede').description),
  },
  {
    group: 'Waiting',
    long: '--replace',
    key: 'replace',
    description: inOptions(keyRow('replace').description),
  },
  {
    group: 'Waiting',
    long: '--max-waiters',
    argument: 'N',
    key: 'maxWaiters',
    description: describe('maxWaiters'),
  },
  {
    group: 'Waiting',
    long: '--jitter',
    argument: 'DUR',
    key: 'jitter',
    description: describe('jitter'),
  },
  {
    group: 'Command',
    short: '-c',
    long: '--command',
    argument: 'STRING',
    description: "run STRING by /bin/sh -c, as in -c 'a | b'",
  },
  {
    group: 'Command',
    long: '--max-run',
    argument: 'DUR',
    key: 'maxRun',
    description: describe('maxRun'),
  },
  {
    group: 'Command',
    long: '--signal',
    argument: 'SIG',
    key: 'signal',
    description: describe('signal'),
  },
  {
    group: 'Command',
    short: '-k',
    long: '--kill-after',
    argument: 'DUR',
    key: 'killAfter',
    description: describe('killAfter'),
  },
  {
    group: 'Command',
    long: '--on-lost',
    argument: 'CMD',
    key: 'onLost',
    description: describe('onLost'),
  },
  {
    group: 'Command',
    long: '--notify',
    argument: 'CMD',
    key: 'notify',
    description: describe('notify'),
  },
  {
    group: 'Command',
    long: '--foreground',
    key: 'foreground',
    description: describe('foreground'),
  },
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
    description: inOptions(keyRow('keepBackground').description),
  },
  {
    group: 'Command',
    long: '--isolate',
    key: 'isolate',
    description: inOptions(keyRow('isolate').description),
  },
  { group: 'Output', short: '-q', long: '--quiet', description: 'say nothing but errors' },
  { group: 'Output', short: '-v', long: '--verbose', description: 'say everything' },
  {
    group: 'Output',
    long: '--log-format',
    argument: 'FORMAT',
    key: 'logFormat',
    description: describe('logFormat'),
  },
  {
    group: 'Output',
    long: '--report',
    argument: 'FILE',
    description: 'write one JSON object about the run',
  },
  {
    group: 'Output',
    long: '--dry-run',
    description: 'print what would be done, connect to nothing, exit 0',
  },
  { group: 'Output', short: '-h', long: '--help', description: 'print this help, exit 0' },
  { group: 'Output', short: '-V', long: '--version', description: 'print the version, exit 0' },
];

function describe(key: ConfigKey): string {
  const standard = key === 'local' ? '' : ` (default: ${defaultTextOf(key)})`;
  return `${inOptions(keyRow(key).description)}${standard}`;
}

/** The description of a key names other keys; on the command line these are options. */
function inOptions(description: string): string {
  return description.replace(
    /\b[a-z]+[A-Z]\w+/g,
    (key) => `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
  );
}
