// The table of verbs: what each takes, how it is described, and what it loads. --help, the man
// page, completion and the parser follow from it. Options for masters and configuration are rows of
// redlock-run's own table.

import { defaultTextOf, type OptionRow, optionTable, parseFlags } from '../config/setting-table.ts';
import type { Call } from './call.ts';
import { literal } from './names.ts';

/** What a verb does; resolves with the exit code. */
export type Verb = (call: Call) => Promise<number>;

export interface VerbRow {
  readonly verb: string;
  /** As in --help: `NAME...`, `[PATTERN]`, `start|stop|status`. */
  readonly operands: string;
  /** How many operands it takes; absent: as many as `operands` names. */
  readonly max?: number;
  readonly summary: string;
  readonly options: readonly OptionRow[];
  /** Loaded when it is called; absent: completion, which works without any configuration. */
  readonly load?: () => Promise<Verb>;
}

/** A row of the table of redlock-run, perhaps with another description. */
function ofRun(long: string, description?: string): OptionRow {
  const row = optionTable.find((candidate) => candidate.long === long);
  if (row === undefined) throw new Error(`no such option: ${long}`);
  return description === undefined ? row : { ...row, description };
}

/** `flags` as in --help: `-y, --yes`, `--token T`; a value that ends in `...` may be repeated. */
function option(flags: string, description: string): OptionRow {
  return {
    ...parseFlags(flags),
    group: 'Output',
    description,
    isRepeatable: /\.\.\.$/.test(flags),
  };
}

const ttlDefault = `(default: ${defaultTextOf('ttl')})`;
const onceTtl = ofRun(
  '--ttl',
  `how long the lock is held from now on; nothing else extends it ${ttlDefault}`,
);
const json = option('--json', 'print one JSON object');
const yes = option('-y, --yes', 'do not ask');
const token = option('--token T', 'only if the holder has this token');
const ownToken = option('--token T', 'the token that acquire or hold has printed');
const note = option('--note WHY', 'why, for the holder and for the history of the lock');
const literalName = option(literal, 'take NAME as it is, even with *, ? or [ in it');
/** Of a lock that is acquired, behind its ttl. */
const acquiring = [
  ...['--wait', '--nonblock', '--conflict-exit-code', '--note', '--label'].map((long) =>
    ofRun(long),
  ),
  json,
];

/** In the order of help. */
const rows: readonly VerbRow[] = [
  {
    verb: 'status',
    operands: 'NAME...',
    summary: 'show the holder of a lock, its masters and its wait queue; exits 75 when it is held',
    options: [option('--watch', 'look again every second, until interrupted'), json],
    load: async () => (await import('./status.ts')).status,
  },
  {
    verb: 'list',
    operands: '[PATTERN]',
    summary: 'list all locks under the prefix, or those that match a pattern such as deploy-*',
    options: [json],
    load: async () => (await import('./list.ts')).list,
  },
  {
    verb: 'top',
    operands: '[PATTERN]',
    summary:
      'show locks, or those that match a pattern, with holders, queues and masters on the screen ' +
      'every second; arrows and page keys move, q quits',
    options: [],
    load: async () => (await import('./top.ts')).top,
  },
  {
    verb: 'history',
    operands: '[NAME]',
    summary:
      'show past runs under a lock, or under all: when, for how long, and why one did not happen',
    options: [
      option('--since DUR', 'runs that ended within this time (default: the newest 50)'),
      option('--html FILE', 'write a page with a timeline, a lane for each host or lock'),
      json,
    ],
    load: async () => (await import('./history/history.ts')).history,
  },
  {
    verb: 'wait',
    operands: 'NAME',
    summary: 'wait until a lock is free, without taking it; exits 75 when it is still held',
    options: [ofRun('--wait'), json],
    load: async () => (await import('./wait.ts')).wait,
  },
  {
    verb: 'stop',
    operands: 'NAME',
    summary:
      'ask the holder to stop its command as --signal and --kill-after say, and wait for the ' +
      'release, one minute at most (-w)',
    options: [
      note,
      ofRun('--wait', 'wait at most this long for the release; 0 looks once (default: 1m)'),
      json,
    ],
    load: async () => (await import('./stop.ts')).stop,
  },
  {
    verb: 'break',
    operands: 'NAME',
    summary:
      'take a lock from the holder that is shown; its redlock-run stops the command and exits 79',
    options: [
      option(
        '--safely',
        'keep others out for the rest of the lease, so that the command ends before another starts',
      ),
      token,
      note,
      yes,
      json,
    ],
    load: async () => (await import('./break.ts')).breakLock,
  },
  {
    verb: 'freeze',
    operands: 'NAME',
    summary:
      'let no new run start under a lock until it is thawed; the present one goes on; --note is ' +
      'needed, and shown to all that wait',
    options: [
      note,
      option(
        '--until TIME',
        'end it by itself then: 18:00, 2026-12-01 or 2026-12-01T18:00 (local time)',
      ),
      option('--for DUR', 'end it by itself after so long'),
      json,
    ],
    load: async () => (await import('./freeze.ts')).freeze,
  },
  {
    verb: 'thaw',
    operands: 'NAME',
    summary: 'end a freeze, no matter which person has set it',
    options: [note, json],
    load: async () => (await import('./freeze.ts')).thaw,
  },
  {
    verb: 'acquire',
    operands: 'NAME',
    summary: 'acquire a lock for one --ttl, for several steps, and print its token; not extended',
    options: [ofRun('--shared'), onceTtl, ...acquiring],
    load: async () => (await import('./steps/acquire.ts')).acquire,
  },
  {
    verb: 'hold',
    operands: 'NAME',
    summary:
      'acquire a lock, print its token, extend it until release, a signal, or the end of a process',
    options: [
      option('--background', 'hold it in the background: print the token and return to the shell'),
      option(
        '--while-pid PID',
        'release it when this process has ended ' +
          '(default with --background: the one that called redlockctl)',
      ),
      ofRun('--shared'),
      ofRun('--ttl', `lock validity, extended until the lock is released ${ttlDefault}`),
      ...acquiring,
    ],
    load: async () => (await import('./steps/hold.ts')).hold,
  },
  {
    verb: 'extend',
    operands: 'NAME',
    summary: 'extend a lock to another --ttl from now; exits 79 when it was lost',
    options: [onceTtl, ownToken, json],
    load: async () => (await import('./steps/steps.ts')).extend,
  },
  {
    verb: 'release',
    operands: 'NAME',
    summary: 'release a lock; exits 79 when it was lost before',
    options: [ownToken, json],
    load: async () => (await import('./steps/steps.ts')).release,
  },
  {
    verb: 'check',
    operands: '[NAME]',
    summary:
      'is the lock of this run held? exits 79 when it was lost; outside a run: NAME and --token; ' +
      'or: does the job of this NAME still run?',
    options: [
      ownToken,
      option(
        '--succeeded-within DUR',
        'by the history: exit 1 unless a run of NAME ended with 0 within this time',
      ),
      option(
        '--max-skips N',
        'by the history: exit 1 when more runs were skipped since the last success',
      ),
      json,
    ],
    load: async () => (await import('./steps/steps.ts')).check,
  },
  {
    verb: 'metrics',
    operands: '',
    summary: 'print locks, runs and masters for Prometheus, or write them for the node exporter',
    options: [
      option(
        '--textfile FILE',
        'write them in one step into a file, for the textfile collector (.prom)',
      ),
      json,
    ],
    load: async () => (await import('./metrics.ts')).metrics,
  },
  {
    verb: 'doctor',
    operands: '',
    max: 50, // Further findings behind --accept.
    summary:
      'check whether the masters are fit for locks: what is wrong, why it matters, how to fix it',
    options: [
      option('--strict', 'exit 1 for warnings, and for checks with the result unknown'),
      option(
        '--accept FINDING...',
        'with --strict: these checks may end with a warning or unknown, as mode or hosts (repeat)',
      ),
      json,
    ],
    load: async () => (await import('./doctor/doctor.ts')).doctor,
  },
  {
    verb: 'acl',
    operands: '',
    summary: 'print the smallest ACL rules under which redlock-run and redlockctl work',
    options: [
      option(
        '--config-get',
        'with CONFIG GET, which tells whether a restart forgets locks, and also shows passwords',
      ),
      json,
    ],
    load: async () => (await import('./doctor/acl.ts')).acl,
  },
  {
    verb: 'local',
    operands: 'start|stop|status',
    summary: 'start, stop or show the masters of --local, those of this user on this machine',
    options: [yes, json],
    load: async () => (await import('./local.ts')).local,
  },
  {
    verb: 'completion',
    operands: 'bash|zsh|fish',
    max: Number.POSITIVE_INFINITY,
    summary:
      'print a script that completes both programs and lock names; its comments tell how to use it',
    options: [],
  },
];

export const verbTable = rows.map(
  (row): VerbRow => (takesNames(row) ? { ...row, options: [...row.options, literalName] } : row),
);
export const verbNames = verbTable.map(({ verb }) => verb);

/** Whether a verb is about locks that are named, and does not take a pattern. */
export function takesNames({ operands }: VerbRow): boolean {
  return operands.includes('NAME');
}

/** How many operands a verb takes. */
export function operandCounts({ operands, max }: VerbRow): { min: number; max: number } {
  if (operands === '') return { min: 0, max: max ?? 0 };
  const named = operands.endsWith('...') ? Number.POSITIVE_INFINITY : 1;
  return { min: operands.startsWith('[') ? 0 : 1, max: max ?? named };
}

const sharedNames = ['--master', '--config', '--local', '--prefix', '--help', '--version'];

/** The options that both programs take. */
export const sharedOptions = optionTable.filter(({ long }) => sharedNames.includes(long));

/** Every option of every verb, once. */
export const allOptions: readonly OptionRow[] = [
  ...sharedOptions,
  ...new Map(verbTable.flatMap(({ options }) => options).map((row) => [row.long, row])).values(),
];
