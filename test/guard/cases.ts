// The contract of a guard: what it reports, and that nothing is left, for each line of
// src/guard/README.md, each end of a command and each accident. Times order the events; none is
// measured.

/** A command with what it starts. */
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

const stubborn: Job = { onStop: 'ignores', children: 2, sessions: 1 };
const hour = 3_600_000;
const soon = 50;
const killed = ['signaled 9', 'ended'];
const stopped = ['signaled 15', 'ended'];

/** A deadline on one of the three clocks, which the others do not know. */
const only = (clock: number, ms: number): Deadline => {
  const on = (index: number) => (index === clock ? ms : null);
  return [on(0), on(1), on(2)];
};
const clocks = ['monotonic', 'boot', 'wall'];
const send = (line: string): Event => ({ send: line });

const ends: readonly Case[] = [
  ...[0, 1, 126, 255].map((code) => ({
    title: `exit code ${code}`,
    events: [{ exits: code }],
    reports: [`exited ${code} 0`, 'ended'],
  })),
  ...[6, 9, 34, 64].map((signal) => ({
    title: `death by signal ${signal}`,
    events: [{ dies: signal }],
    reports: [`signaled ${signal}`, 'ended'],
  })),
  {
    title: 'what the command leaves is counted, and stays until a request',
    job: { children: 3, sessions: 2 },
    events: [{ exits: 4 }, { awaits: 'exited' }, send('stop 15 3600000')],
    reports: ['exited 4 3', 'ended'],
  },
  {
    title: 'what ignores the stop signal is killed after the grace',
    job: stubborn,
    events: [{ exits: 4 }, { awaits: 'exited' }, send('stop 15 20')],
    reports: ['exited 4 2', 'ended'],
  },
];

const requests: readonly Case[] = [
  { title: 'stop', events: [send('stop 15 3600000')], reports: stopped },
  {
    title: 'stop with another signal',
    events: [send('stop 2 3600000')],
    reports: ['signaled 2', 'ended'],
  },
  {
    title: 'stop with cleanup',
    job: { onStop: 'cleans-up' },
    events: [send('stop 15 3600000')],
    reports: ['exited 7 0', 'ended'],
  },
  {
    title: 'stop, then SIGKILL after its grace',
    job: stubborn,
    events: [send('stop 15 20')],
    reports: killed,
  },
  {
    title: 'a second stop shortens the grace',
    job: stubborn,
    events: [send('stop 15 3600000'), send('stop 15 20')],
    reports: killed,
  },
  {
    title: 'a second stop never lengthens the grace',
    job: stubborn,
    events: [send('stop 15 100'), send('stop 15 3600000')],
    reports: killed,
  },
  { title: 'kill', job: stubborn, events: [send('kill')], reports: killed },
  {
    title: 'kill after stop',
    job: stubborn,
    events: [send('stop 15 3600000'), send('kill')],
    reports: killed,
  },
  {
    title: 'later deadlines do not undo a kill',
    job: stubborn,
    events: [send('stop 15 100'), { deadlines: [hour, hour] }],
    reports: killed,
  },
  {
    title: 'relay reaches the command, and is no stop',
    job: { onStop: 'cleans-up' },
    events: [send('relay 12'), { awaits: 'exited' }],
    reports: ['exited 12 0', 'ended'],
  },
  {
    title: 'keep leaves what the command has left',
    job: { children: 1 },
    events: [send('keep'), { exits: 3 }],
    reports: ['exited 3 1'],
  },
  {
    title: 'keep after a stop keeps nothing',
    job: stubborn,
    events: [send('stop 15 300'), send('keep'), { exits: 3 }],
    reports: ['exited 3 2', 'ended'],
  },
  {
    title: 'keep does not keep what a deadline ends',
    job: stubborn,
    events: [send('keep'), { deadlines: [0, soon] }],
    reports: ['stopping', ...killed],
  },
  {
    title: 'run dies: stop, and SIGKILL after the grace',
    job: stubborn,
    graceMs: 20,
    events: ['run dies'],
    reports: [],
  },
];

const broken: readonly Case[] = [
  ...[
    ...['', 'stop', 'stop 15', 'stop 0 5', 'stop 65 5', 'stop 15 -1', 'stop 15 5 5', 'stop 15 5 '],
    ...['stop 15 99999999999', 'kill 1', 'kil', 'killl', 'KILL', ' kill', 'keep 1', 'relay'],
    ...[
      'relay 0',
      'relay 999',
      'relay 15x',
      'deadlines',
      'deadlines 1,1,1',
      'deadlines -,-,- 1,1,1',
    ],
    ...[
      'deadlines 1,1 1,1,1',
      'deadlines 1,1,1,1 1,1,1',
      'deadlines 99999999999999999999,1,1 1,1,1',
    ],
    ...['deadlines 1,1,1 1,1,', `kill${'x'.repeat(600)}`],
  ].map((line) => ({
    title: `malformed, as if redlock-run had died: ${JSON.stringify(line).slice(0, 60)}`,
    events: [send(line)],
    reports: stopped,
  })),
  {
    title: 'a line cut after every byte',
    job: stubborn,
    events: [{ sendBytes: 'stop 15 20\n' }],
    reports: killed,
  },
  {
    title: 'several lines at once, the last of them in part',
    job: stubborn,
    events: [{ sendPart: 'relay 23\nrelay 23\nstop 15 3600000\nki' }, send('ll')],
    reports: killed,
  },
];

const moved = (stopIn: Deadline, killIn: Deadline): Event => ({ deadlines: [stopIn, killIn] });

const deadlines: readonly Case[] = [
  ...clocks.map((clock, index) => ({
    title: `nothing is started where the first deadline has passed on the ${clock} clock`,
    stopIn: only(index, -1),
    reports: ['failed 62', 'ended'],
  })),
  { title: 'the first deadline', events: [moved(soon, hour)], reports: ['stopping', ...stopped] },
  {
    title: 'the second deadline',
    job: stubborn,
    events: [moved(soon, 2 * soon)],
    reports: ['stopping', ...killed],
  },
  {
    title: 'the second deadline before the first',
    job: stubborn,
    events: [moved(hour, soon)],
    reports: ['stopping', ...killed],
  },
  {
    title: 'the grace where it ends before the second deadline',
    job: stubborn,
    graceMs: 20,
    events: [moved(soon, hour)],
    reports: ['stopping', ...killed],
  },
  {
    title: 'deadlines that have passed',
    job: stubborn,
    events: [moved(-hour, -hour)],
    reports: ['stopping', ...killed],
  },
  ...clocks.flatMap((clock, index): readonly Case[] => [
    {
      title: `the first deadline on the ${clock} clock alone`,
      events: [moved(only(index, soon), hour)],
      reports: ['stopping', ...stopped],
    },
    {
      title: `the second deadline on the ${clock} clock alone`,
      job: stubborn,
      events: [moved(hour, only(index, soon))],
      reports: ['stopping', ...killed],
    },
    {
      title: `the ${clock} clock first, where the others are an hour behind`,
      events: [
        moved(
          [0, 1, 2].map((i) => (i === index ? soon : hour)),
          hour,
        ),
      ],
      reports: ['stopping', ...stopped],
    },
  ]),
  {
    // A guard that kept the old deadlines stops the command when the signal wakes it.
    title: 'deadlines that have been moved do not count any more',
    job: { onStop: 'cleans-up' },
    events: [moved(400, 400), moved(hour, hour), { passes: 450 }, send('relay 12')],
    reports: ['exited 12 0', 'ended'],
  },
  {
    title: 'a stop that was requested is not reported as a deadline',
    job: stubborn,
    events: [send('stop 15 3600000'), moved(0, soon)],
    reports: killed,
  },
];

const accidents: readonly Case[] = [
  ...(['outer', 'inner'] as const).flatMap((which): readonly Case[] => [
    {
      title: `${which} guard dies: the other one stops the command`,
      events: [`${which} dies`],
      reports: ['lost', ...stopped],
    },
    {
      title: `${which} guard dies: the other one kills after the grace`,
      job: stubborn,
      graceMs: 20,
      events: [`${which} dies`],
      reports: ['lost', ...killed],
    },
    {
      title: `${which} guard dies in a stop`,
      job: stubborn,
      graceMs: 20,
      events: [send('stop 15 3600000'), `${which} dies`],
      reports: ['lost', ...killed],
    },
    {
      title: `${which} guard dies where the command has ended`,
      job: stubborn,
      graceMs: 20,
      events: [{ exits: 5 }, { awaits: 'exited' }, `${which} dies`],
      reports: ['exited 5 2', 'lost', 'ended'],
    },
    {
      title: `${which} guard dies, and redlock-run`,
      job: stubborn,
      graceMs: 300,
      events: ['run dies', `${which} dies`],
      reports: [],
    },
    {
      title: `${which} guard is stopped before a deadline`,
      job: stubborn,
      events: [`${which} stops`, { deadlines: [0, 20] }],
      reports: ['stopping', ...killed],
    },
    {
      title: `${which} guard is stopped before a request`,
      job: stubborn,
      events: [`${which} stops`, send('stop 15 20')],
      reports: killed,
    },
    {
      title: `${which} guard is stopped in the grace`,
      job: stubborn,
      events: [send('stop 15 100'), `${which} stops`],
      reports: killed,
    },
    {
      title: `${which} guard is stopped, and the command ends`,
      events: [`${which} stops`, { exits: 3 }],
      reports: ['exited 3 0', 'ended'],
    },
    {
      title: `${which} guard is stopped, and redlock-run dies`,
      job: stubborn,
      graceMs: 20,
      events: [`${which} stops`, 'run dies'],
      reports: [],
    },
  ]),
];

export const cases: readonly Case[] = [...ends, ...requests, ...broken, ...deadlines, ...accidents];
