// The one table of verbs and of their options. --help, the man page, completion and the reading of
// the command line are made from it. Options for masters and configuration are rows of redlock-run's
// own table.

import { type OptionRow, optionTable } from '../config/options.ts';

export const verbNames = [
  'status',
  'list',
  'top',
  'history',
  'break',
  'acquire',
  'hold',
  'extend',
  'release',
  'check',
  'doctor',
  'acl',
  'local',
  'completion',
] as const;
export type VerbName = (typeof verbNames)[number];

export type VerbOption = Omit<OptionRow, 'group'>;

export interface VerbRow {
  readonly verb: VerbName;
  /** As in help: `NAME...`, `[PATTERN]`, `start|stop|status`. */
  readonly operands: string;
  /** How many words may follow. */
  readonly least: number;
  readonly most: number;
  readonly summary: string;
  readonly options: readonly VerbOption[];
}

/** As redlock-run has it. */
function ofRun(long: string): VerbOption {
  const row = optionTable.find((candidate) => candidate.long === long);
  if (row === undefined) throw new Error(`no such option: ${long}`);
  return row;
}

const [ttl, wait, nonblock] = [ofRun('--ttl'), ofRun('--wait'), ofRun('--nonblock')];
const json: VerbOption = { long: '--json', description: 'print one JSON object' };
const yes: VerbOption = { short: '-y', long: '--yes', description: 'do not ask' };
const token: VerbOption = {
  long: '--token',
  argument: 'T',
  description: 'only if the holder has this token',
};
const background: VerbOption = {
  long: '--background',
  description: 'go on holding it after redlockctl has printed the token and ended',
};
const whilePid: VerbOption = {
  long: '--while-pid',
  argument: 'PID',
  description:
    'give it back when this process is gone (default with --background: the one that called redlockctl)',
};
const strict: VerbOption = {
  long: '--strict',
  description: 'exit 1 for warnings, and for what could not be found out',
};
const safely: VerbOption = {
  long: '--safely',
  description:
    'keep others out for what is left of the lease, so that the command has ended before another begins',
};
const configGet: VerbOption = {
  long: '--config-get',
  description:
    'with the right that tells whether a restart forgets locks, and that shows passwords',
};
const watch: VerbOption = {
  long: '--watch',
  description: 'look again every second, until interrupted',
};

const since: VerbOption = {
  long: '--since',
  argument: 'DUR',
  description: 'runs that ended so lately (default: the newest 50)',
};
const html: VerbOption = {
  long: '--html',
  argument: 'FILE',
  description: 'write a page with a timeline, a lane for each host',
};
const svg: VerbOption = {
  long: '--svg',
  argument: 'FILE',
  description: 'write the timeline alone, as a picture',
};

export const verbTable: readonly VerbRow[] = [
  {
    verb: 'status',
    operands: 'NAME...',
    least: 1,
    most: Number.POSITIVE_INFINITY,
    summary: 'who holds a lock, on which masters, and who waits for it; exits 75 when it is held',
    options: [watch, json],
  },
  {
    verb: 'list',
    operands: '[PATTERN]',
    least: 0,
    most: 1,
    summary: 'all locks under the prefix, or those that match a pattern such as deploy-*',
    options: [json],
  },
  {
    verb: 'top',
    operands: '',
    least: 0,
    most: 0,
    summary: 'locks, holders, queues and masters on the whole screen, once a second; q quits',
    options: [],
  },
  {
    verb: 'history',
    operands: '[NAME]',
    least: 0,
    most: 1,
    summary:
      'who held a lock, when and for how long, who waited, and why a run did not happen; or of all locks',
    options: [since, html, svg, json],
  },
  {
    verb: 'break',
    operands: 'NAME',
    least: 1,
    most: 1,
    summary:
      'take a lock away from the holder that is shown; its redlock-run stops the command and exits 79',
    options: [safely, token, yes, json],
  },
  {
    verb: 'acquire',
    operands: 'NAME',
    least: 1,
    most: 1,
    summary: 'take a lock for several steps, for one --ttl, and print its token; nobody extends it',
    options: [ttl, wait, nonblock, json],
  },
  {
    verb: 'hold',
    operands: 'NAME',
    least: 1,
    most: 1,
    summary:
      'take a lock, print its token, and extend it until release, a signal, or the end of a process',
    options: [background, whilePid, ttl, wait, nonblock, json],
  },
  {
    verb: 'extend',
    operands: 'NAME',
    least: 1,
    most: 1,
    summary: 'hold it for another --ttl from now; exits 79 when it was lost',
    options: [ttl, token, json],
  },
  {
    verb: 'release',
    operands: 'NAME',
    least: 1,
    most: 1,
    summary: 'give it back; exits 79 when it was lost before',
    options: [token, json],
  },
  {
    verb: 'check',
    operands: '[NAME]',
    least: 0,
    most: 1,
    summary:
      'is the lock of this run still held? exits 79 when it was lost; outside a run with NAME and --token',
    options: [token, json],
  },
  {
    verb: 'doctor',
    operands: '',
    least: 0,
    most: 0,
    summary:
      'are these masters fit to guard money? what is wrong, why it matters, and what mends it',
    options: [strict, json],
  },
  {
    verb: 'acl',
    operands: '',
    least: 0,
    most: 0,
    summary: 'print the smallest ACL rules under which redlock-run and redlockctl work',
    options: [configGet, json],
  },
  {
    verb: 'local',
    operands: 'start|stop|status',
    least: 1,
    most: 1,
    summary: 'the masters of this user on this machine, as with --local',
    options: [yes, json],
  },
  {
    verb: 'completion',
    operands: 'bash|zsh|fish',
    least: 1,
    most: Number.POSITIVE_INFINITY,
    summary:
      'print a script that completes both programs, names of locks included; see the script for its use',
    options: [],
  },
];

const sharedNames = ['--master', '--config', '--local', '--prefix', '--help', '--version'];

/** What both programs take. */
export const sharedOptions: readonly OptionRow[] = optionTable.filter((row) =>
  sharedNames.includes(row.long),
);

/** Every option of every verb, once. */
export const allOptions: readonly OptionRow[] = [
  ...sharedOptions,
  ...new Map(
    verbTable
      .flatMap(({ options }) => options)
      .map((row) => [row.long, { ...row, group: 'Output' as const }]),
  ).values(),
];
