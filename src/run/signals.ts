// What redlock-run and redlockctl do with each signal: the one table, which docs/supervision.md
// shows. The guard blocks all of them.

type Signal = NodeJS.Signals;

/**
 * stop: redlock-run stops the command by this very signal, and kills it at a second one;
 * stop-signal: stops it by its own stop signal (--signal): it may know nothing of this one; relay:
 * passes the signal on to it; suspend: suspends both; ignore: nothing happens; default: not
 * handled, the kernel does what it does to any program.
 */
export type Meaning = 'stop' | 'stop-signal' | 'relay' | 'suspend' | 'ignore' | 'default';

export interface SignalRow {
  readonly names: readonly string[];
  /** While the command runs. */
  readonly running: Meaning;
  /** Ends a wait, and each verb of redlockctl for those that are raised again. */
  readonly endsWait: boolean;
  /** redlock-run dies of it in the end; otherwise it exits with 128 + n. */
  readonly isRaisedAgain: boolean;
  /** The terminal sends it to its whole foreground group, so that the command has it already. */
  readonly isFromTerminal: boolean;
  /** Ends a process that does not handle it, so that it can be a stop signal (--signal). */
  readonly isEnding: boolean;
}

const of = (
  names: string,
  running: Meaning,
  facts: readonly Exclude<keyof SignalRow, 'names' | 'running'>[],
): SignalRow => ({
  names: names.split(' '),
  running,
  endsWait: facts.includes('endsWait'),
  isRaisedAgain: facts.includes('isRaisedAgain'),
  isFromTerminal: facts.includes('isFromTerminal'),
  isEnding: facts.includes('isEnding'),
});

const ends = ['endsWait', 'isEnding'] as const;

export const signalTable: readonly SignalRow[] = [
  of('TERM', 'stop', [...ends, 'isRaisedAgain']),
  of('INT', 'stop', [...ends, 'isRaisedAgain', 'isFromTerminal']),
  of('HUP', 'relay', [...ends, 'isRaisedAgain']),
  of('QUIT', 'relay', [...ends, 'isFromTerminal']),
  of('ALRM VTALRM PROF XCPU IO PWR STKFLT', 'stop-signal', ends),
  of('USR1 USR2', 'relay', ['isEnding']),
  of('WINCH', 'relay', ['isFromTerminal']),
  of('CONT', 'relay', []),
  of('TSTP', 'suspend', []),
  of('PIPE XFSZ', 'ignore', ['isEnding']),
  of('TTIN TTOU URG', 'default', []),
  of('CHLD STOP', 'default', []),
  of('KILL ILL TRAP ABRT BUS FPE SEGV SYS', 'default', ['isEnding']),
];

const rows = new Map(signalTable.flatMap((row) => row.names.map((name) => [`SIG${name}`, row])));

/** Other signals are those of another system, or real-time signals. */
const unknown = of('', 'default', ['isEnding']);

export function meaningOf(signal: Signal): SignalRow {
  return rows.get(signal) ?? unknown;
}

/** The signals of the table for which this holds. */
export function signalsThat(isMeant: (row: SignalRow) => boolean): readonly Signal[] {
  return [...rows].flatMap(([signal, row]) => (isMeant(row) ? [signal as Signal] : []));
}

/** redlock-run, and a verb of redlockctl, die of these again in the end. */
export const raisedAgain = signalsThat(({ isRaisedAgain }) => isRaisedAgain);
