// What redlock-run and its guard tell one another: one JSON object a line over one pipe. The surprise: deadlines travel as
// "so many ms after these clock readings", so that neither a message that was read late nor a machine that slept in between
// gives anybody more time.

import type { Root } from '../tree/tree.ts';

/** What a guard is called, by itself and in ps(1). */
export const guardName = 'redlock-guard';
/** Where the guard finds the pipe. */
export const lineDescriptor = 3;

/** The clocks of this machine at one instant, in ms; the same for every process on it. */
export interface Readings {
  readonly monotonic: number;
  /** null where the system has none. */
  readonly boot: number | null;
  readonly wall: number;
}

/** The lease has been proven: stop the tree, and kill it, so long after the readings, unless told anew before. */
export interface Arm {
  readonly kind: 'arm';
  /** Counts up; the answer tells it, so that nobody takes an answer to an earlier one for it. */
  readonly count: number;
  readonly readings: Readings;
  readonly stopInMs: number;
  readonly killInMs: number;
}

export type ToGuard =
  /** The first message, to which the guard answers that it is ready. */
  | { readonly kind: 'orders'; readonly orders: GuardOrders }
  /** Everything that the first deadline takes is to be done once, on nobody. */
  | { readonly kind: 'rehearse' }
  | Arm
  | { readonly kind: 'root'; readonly root: Root };

export type FromGuard =
  | { readonly kind: 'ready' }
  | { readonly kind: 'armed'; readonly count: number }
  /** A deadline passed without a word: redlock-run is frozen, or so slow that it might as well be. */
  | { readonly kind: 'stopping' };

/** For whom and how a guard works. It is started before they are known, so that its own start costs no time. */
export interface GuardOrders {
  readonly runId: string;
  /** Of redlock-run. */
  readonly pid: number;
  readonly stopSignal: NodeJS.Signals;
  readonly graceMs: number;
  /** By so much the guard's deadlines come after redlock-run's own, so that two do not do the same work. */
  readonly slackMs: number;
}

/** Takes text piece by piece and calls back for each message in it; a last line that was cut off is dropped. */
export function eachMessage<Message>(onMessage: (message: Message) => void): (text: string) => void {
  let rest = '';
  return (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onMessage(JSON.parse(line) as Message);
  };
}

export function asLine(message: ToGuard | FromGuard): string {
  return `${JSON.stringify(message)}\n`;
}
