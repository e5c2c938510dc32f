// What every guard can do, the real one and the simulator's model: lines in, reports out. cases.ts
// has what is expected of both.

/** A command with what it starts: real processes, or a model of them. */
export interface Job {
  /** What the stop signal does to it; by default it dies. `cleans-up`: it exits with 7. */
  readonly onStop?: 'dies' | 'ignores' | 'cleans-up';
  /** How many processes it starts, which ignore the stop signal if it does. */
  readonly children?: number;
  /** How many of them have a session of their own. */
  readonly sessions?: number;
}

/** Milliseconds from now on each clock; null: the sender does not have that clock. */
export type Deadline = number | readonly (number | null)[];

export interface Start {
  readonly job: Job;
  readonly graceMs: number;
  readonly stopIn: Deadline;
  readonly killIn: Deadline;
}

/** What redlock-run, the command or an accident does once the command is in place. */
export type Event =
  /** A line as redlock-run sends it: to both guards. */
  | { readonly send: string }
  /** The same, byte by byte, or a part of a line. */
  | { readonly sendBytes: string }
  | { readonly sendPart: string }
  | { readonly deadlines: readonly [stopIn: Deadline, killIn: Deadline] }
  /** The command exits with this code, or sends itself this signal. */
  | { readonly exits: number }
  | { readonly dies: number }
  /** redlock-run dies: both sockets close. */
  | 'run dies'
  | 'outer dies'
  | 'inner dies'
  | 'outer stops'
  | 'inner stops'
  /** Nothing happens until the guard has reported this. */
  | { readonly awaits: string }
  /** Nothing happens until this many milliseconds have passed on all clocks. */
  | { readonly passes: number };

export interface GuardUnderTest {
  /** Resolves when the command is in place, or could not be started. */
  ready(): Promise<void>;
  /**
   * All reports until now, from both guards. An exit is without its instant, and a death by a
   * signal without the count of what is left.
   */
  readonly reports: readonly string[];
  happens(event: Event): Promise<void>;
  /** Resolves when no process of the command and no guard is left. */
  gone(): Promise<void>;
}

export interface Case {
  readonly title: string;
  readonly job?: Job;
  readonly graceMs?: number;
  readonly stopIn?: Deadline;
  readonly killIn?: Deadline;
  readonly events?: readonly Event[];
  /** All of them, in order, but `started`. */
  readonly reports: readonly string[];
}

const hour = 3_600_000;

/** Runs a case to its end. Returns its reports but `started`, whose pid is not known before. */
export async function play(
  { job = {}, graceMs = hour, stopIn = hour, killIn = hour, events = [] }: Case,
  open: (start: Start) => GuardUnderTest,
): Promise<readonly string[]> {
  const guard = open({ job, graceMs, stopIn, killIn });
  await guard.ready();
  for (const event of events) await guard.happens(event);
  await guard.gone();
  return guard.reports.filter((report) => !report.startsWith('started'));
}
