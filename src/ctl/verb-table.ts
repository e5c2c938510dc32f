// The table of verbs and of their options. --help, the man page, completion and the parser follow
// from it. Options for masters and configuration are rows of redlock-run's own table.

import { defaultTextOf, type OptionRow, optionTable } from '../config/setting-table.ts';
import { literal } from './names.ts';

export type VerbOption = Omit<OptionRow, 'group'>;

export interface VerbRow {
  readonly verb: VerbName;
  /** As in --help: `NAME...`, `[PATTERN]`, `start|stop|status`. */
  readonly operands: string;
  /** How many operands it takes; absent: as many as `operands` names. */
  readonly max?: number;
  readonly summary: string;
  readonly options: readonly VerbOption[];
}

/** A row of the table of redlock-run. */
function ofRun(long: string): VerbOption {
  const row = optionTable.find((candidate) => candidate.long === long);
  if (row === undefined) throw new Error(`no such option: ${long}`);
  return row;
}

const [ttl, wait, nonblock] = [ofRun('--ttl'), ofRun('--wait'), ofRun('--nonblock')];
const [shared, conflict] = [ofRun('--shared'), ofRun('--conflict-exit-code')];
const [runNote, label] = [ofRun('--note'), ofRun('--label')];
const ttlDefault = `(default: ${defaultTextOf('ttl')})`;
const keptTtl: VerbOption = {
  ...ttl,
  description: `lock validity, extended until the lock is released ${ttlDefault}`,
};
const onceTtl: VerbOption = {
  ...ttl,
  description: `how long the lock is held from now on; nothing else extends it ${ttlDefault}`,
};
const stopWait: VerbOption = {
  ...wait,
  description: 'wait at most this long for the release; 0 looks once (default: 1m)',
};
const json: VerbOption = { long: '--json', description: 'print one JSON object' };
const yes: VerbOption = { short: '-y', long: '--yes', description: 'do not ask' };
const token: VerbOption = {
  long: '--token',
  argument: 'T',
  description: 'only if the holder has this token',
};
const ownToken: VerbOption = {
  ...token,
  description: 'the token that acquire or hold has printed',
};
const note: VerbOption = {
  long: '--note',
  argument: 'WHY',
  description: 'why, for the holder and for the history of the lock',
};
const until: VerbOption = {
  long: '--until',
  argument: 'TIME',
  description: 'end it by itself then: 18:00, 2026-12-01 or 2026-12-01T18:00 (local time)',
};
const forTime: VerbOption = {
  long: '--for',
  argument: 'DUR',
  description: 'end it by itself after so long',
};
const background: VerbOption = {
  long: '--background',
  description: 'hold it in the background: print the token and return to the shell',
};
const whilePid: VerbOption = {
  long: '--while-pid',
  argument: 'PID',
  description:
    'release it when this process has ended ' +
    '(default with --background: the one that called redlockctl)',
};
const strict: VerbOption = {
  long: '--strict',
  description: 'exit 1 for warnings, and for checks with the result unknown',
};
const accept: VerbOption = {
  long: '--accept',
  argument: 'FINDING...',
  repeatable: true,
  description:
    'with --strict: these checks may end with a warning or unknown, as mode or hosts (repeat)',
};
const textfile: VerbOption = {
  long: '--textfile',
  argument: 'FILE',
  description: 'write them in one step into a file, for the textfile collector (.prom)',
};
const safely: VerbOption = {
  long: '--safely',
  description:
    'keep others out for the rest of the lease, so that the command ends before another starts',
};
const configGet: VerbOption = {
  long: '--config-get',
  description:
    'with CONFIG GET, which tells whether a restart forgets locks, and also shows passwords',
};
const watch: VerbOption = {
  long: '--watch',
  description: 'look again every second, until interrupted',
};

const succeededWithin: VerbOption = {
  long: '--succeeded-within',
  argument: 'DUR',
  description: 'by the history: exit 1 unless a run of NAME ended with 0 within this time',
};
const maxSkips: VerbOption = {
  long: '--max-skips',
  argument: 'N',
  description: 'by the history: exit 1 when more runs were skipped since the last success',
};
const since: VerbOption = {
  long: '--since',
  argument: 'DUR',
  description: 'runs that ended within this time (default: the newest 50)',
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

const literalName: VerbOption = {
  long: literal,
  description: 'take NAME as it is, even with *, ? or [ in it',
};

/** Whether a verb is about locks that are named, and does not take a pattern. */
export function takesNames({ operands }: Pick<VerbRow, 'operands'>): boolean {
  return operands.includes('NAME');
}

/** By verb, in the order of help. */
const rows = {
  status: {
    operands: 'NAME...',
    summary: 'show the holder of a lock, its masters and its wait queue; exits 75 when it is held',
    options: [watch, json],
  },
  list: {
    operands: '[PATTERN]',
    summary: 'list all locks under the prefix, or those that match a pattern such as deploy-*',
    options: [json],
  },
  top: {
    operands: '[PATTERN]',
    summary:
      'show locks, or those that match a pattern, with holders, queues and masters on the screen ' +
      'every second; arrows and page keys move, q quits',
    options: [],
  },
  history: {
    operands: '[NAME]',
    summary:
      'show past runs under a lock, or under all: when, for how long, and why one did not happen',
    options: [since, html, svg, json],
  },
  wait: {
    operands: 'NAME',
    summary: 'wait until a lock is free, without taking it; exits 75 when it is still held',
    options: [wait, json],
  },
  stop: {
    operands: 'NAME',
    summary:
      'ask the holder to stop its command as --signal and --kill-after say, and wait for the ' +
      'release, one minute at most (-w)',
    options: [note, stopWait, json],
  },
  break: {
    operands: 'NAME',
    summary:
      'take a lock from the holder that is shown; its redlock-run stops the command and exits 79',
    options: [safely, token, note, yes, json],
  },
  freeze: {
    operands: 'NAME',
    summary:
      'let no new run start under a lock until it is thawed; the present one goes on; --note is ' +
      'needed, and shown to all that wait',
    options: [note, until, forTime, json],
  },
  thaw: {
    operands: 'NAME',
    summary: 'end a freeze, no matter which person has set it',
    options: [note, json],
  },
  acquire: {
    operands: 'NAME',
    summary: 'acquire a lock for one --ttl, for several steps, and print its token; not extended',
    options: [shared, onceTtl, wait, nonblock, conflict, runNote, label, json],
  },
  hold: {
    operands: 'NAME',
    summary:
      'acquire a lock, print its token, extend it until release, a signal, or the end of a process',
    options: [
      background,
      whilePid,
      shared,
      keptTtl,
      wait,
      nonblock,
      conflict,
      runNote,
      label,
      json,
    ],
  },
  extend: {
    operands: 'NAME',
    summary: 'extend a lock to another --ttl from now; exits 79 when it was lost',
    options: [onceTtl, ownToken, json],
  },
  release: {
    operands: 'NAME',
    summary: 'release a lock; exits 79 when it was lost before',
    options: [ownToken, json],
  },
  check: {
    operands: '[NAME]',
    summary:
      'is the lock of this run held? exits 79 when it was lost; outside a run: NAME and --token; ' +
      'or: does the job of this NAME still run?',
    options: [ownToken, succeededWithin, maxSkips, json],
  },
  metrics: {
    operands: '',
    summary: 'print locks, runs and masters for Prometheus, or write them for the node exporter',
    options: [textfile, json],
  },
  doctor: {
    operands: '',
    max: 50, // Further findings behind --accept.
    summary:
      'check whether the masters are fit for locks: what is wrong, why it matters, how to fix it',
    options: [strict, accept, json],
  },
  acl: {
    operands: '',
    summary: 'print the smallest ACL rules under which redlock-run and redlockctl work',
    options: [configGet, json],
  },
  local: {
    operands: 'start|stop|status',
    summary: 'start, stop or show the masters of --local, those of this user on this machine',
    options: [yes, json],
  },
  completion: {
    operands: 'bash|zsh|fish',
    max: Number.POSITIVE_INFINITY,
    summary:
      'print a script that completes both programs and lock names; its comments tell how to use it',
    options: [],
  },
} satisfies Readonly<Record<string, Omit<VerbRow, 'verb'>>>;

export type VerbName = keyof typeof rows;
export const verbNames = Object.keys(rows) as readonly VerbName[];

export const verbTable = verbNames.map((verb): VerbRow => {
  const row: Omit<VerbRow, 'verb'> = rows[verb];
  return { ...row, verb, options: [...row.options, ...(takesNames(row) ? [literalName] : [])] };
});

/** How many operands a verb takes. */
export function operandCounts({ operands, max }: VerbRow): { min: number; max: number } {
  if (operands === '') return { min: 0, max: max ?? 0 };
  const most = operands.endsWith('...') ? Number.POSITIVE_INFINITY : 1;
  return { min: operands.startsWith('[') ? 0 : 1, max: max ?? most };
}

const sharedNames = ['--master', '--config', '--local', '--prefix', '--help', '--version'];

/** The options that both programs take. */
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
