// The table of the exit status of both programs. --help and the man pages are made from it, and
// docs/reference.md is compared with it. A code means the same in both programs. redlockctl exits
// with 75 for a held lock also when it was only asked, so that
// `until redlockctl status x; do sleep 1; done` works.

export const exitCode = {
  ok: 0,
  /** doctor --strict, check --succeeded-within and --max-skips. */
  warnings: 1,
  usage: 64,
  unreachable: 69,
  bug: 70,
  output: 74,
  busy: 75,
  config: 78,
  lost: 79,
  overdue: 124,
  notExecutable: 126,
  notFound: 127,
} as const;

/** A code and its meaning in each program; absent: that program does not exit with it. */
interface ExitCodeRow {
  readonly code: string;
  readonly run?: string;
  readonly ctl?: string;
}

const exitCodeTable: readonly ExitCodeRow[] = [
  {
    code: '0-255',
    run: "the command's own, when it ran to its end under a valid lock",
  },
  {
    code: '128+N',
    run: 'the command died of signal N, or redlock-run was told to stop by it',
  },
  {
    code: '0',
    ctl: 'done; status, wait: free; doctor: nothing but warnings at worst',
  },
  {
    code: '1',
    ctl:
      'doctor --strict: warnings, or things that could not be found out; ' +
      'check: no success so lately, or too many skipped runs',
  },
  {
    code: '64',
    run: 'usage error, or timings that cannot be safe',
    ctl: 'usage error',
  },
  {
    code: '69',
    run: 'no quorum: too few masters answered to tell whether the lock is held',
    ctl: 'no quorum: too few masters answered to tell whether the lock is held',
  },
  {
    code: '70',
    run: 'a bug in redlock-run',
    ctl: 'a bug in redlockctl',
  },
  {
    code: '74',
    run:
      'output that was asked for (--help, --version, --dry-run, --report before the run) ' +
      'cannot be written',
    ctl: 'the output could not be written, or no process read it to its end',
  },
  {
    code: '75',
    run: 'held by someone else for all of the wait (-E changes the number)',
    ctl:
      'status, wait, acquire, hold: held by someone else; stop: still held; ' +
      'freeze: frozen already; thaw: frozen anew; ' +
      'break: not broken: another client holds it by now, or the answer was not yes',
  },
  {
    code: '78',
    run:
      'configuration: unreadable, not trusted, invalid, no masters, a server listed twice, ' +
      'a replica, a login or certificate refused',
    ctl:
      'configuration: unreadable, not trusted, invalid, no masters, a server listed twice, ' +
      'a replica; doctor: errors; check: no history',
  },
  {
    code: '79',
    run:
      'the lock was lost, or given up to --replace or redlockctl stop, while the command ran; ' +
      'the command was stopped; --reentrant: the enclosing lock was lost',
    ctl:
      'extend, release, check: the lock is not held with this token any more; ' +
      'hold: it was lost, or given up to stop',
  },
  { code: '124', run: '--max-run was exceeded' },
  { code: '126', run: 'the command cannot be executed' },
  { code: '127', run: 'the command was not found' },
];

/** The rows of one program: code and meaning. */
export function exitCodesOf(program: 'run' | 'ctl'): (readonly [code: string, meaning: string])[] {
  return exitCodeTable.flatMap((row) => {
    const meaning = row[program];
    return meaning === undefined ? [] : [[row.code, meaning] as const];
  });
}
