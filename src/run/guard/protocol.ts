// The messages between redlock-run and its guard: one JSON object a line, over two pipes, so that a
// request that cannot be written destroys nothing that the guard has said. Each request has a
// number and is answered, but for the last one of a run. Instants are given as "so many ms after
// these clock readings", so that neither a message that was read late nor a machine that slept in
// between gives more time than there is.

import type { ChildExit, Signal } from '../run-result.ts';

/** The name of the guard in ps(1) and in its own messages. */
export const guardName = 'redlock-guard';
/** The descriptors of the pipes in the guard: for requests, and for what it says. */
export const requestDescriptor = 3;
export const answerDescriptor = 6;
/** Those of the caller's stdin, stdout and stderr. The guard's own output goes to /dev/null. */
export const callerStreams = [0, 4, 5] as const;

/** The clocks of this machine at one instant, in ms; the same for every process on it. */
export interface Readings {
  readonly monotonic: number;
  /** null where the system has none. */
  readonly boot: number | null;
  readonly wall: number;
}

export interface GuardConfig {
  readonly stopSignal: Signal;
  readonly graceMs: number;
  /** The guard acts so much later than redlock-run, so that both do not do the same work. */
  readonly slackMs: number;
}

/** The command that is to be started, and how. */
export interface StartPlan {
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly isForeground: boolean;
  /** The command's arguments begin with those that make a PID namespace (isolation.ts). */
  readonly hasNamespace: boolean;
}

/** The lease is confirmed: stop and kill so long after the readings, unless told anew before. */
export interface Deadlines {
  readonly kind: 'deadlines';
  readonly readings: Readings;
  readonly stopInMs: number;
  readonly killInMs: number;
}

/** The request is dropped when it is read later than so many ms after the readings. */
export interface Until {
  readonly readings: Readings;
  readonly withinMs: number;
}

export type GuardRequest =
  /** The first one. Answered when the guard can keep a tree. */
  | { readonly kind: 'configure'; readonly config: GuardConfig }
  | Deadlines
  /** Answered with the pid, or with why it could not be started. Sent once in a run. */
  | { readonly kind: 'start'; readonly plan: StartPlan }
  /** A signal for the command. */
  | { readonly kind: 'relay'; readonly signal: Signal }
  /** A signal for every process of the command. Answered before the first one is sent. */
  | { readonly kind: 'stop'; readonly signal: Signal; readonly until: Until }
  /** redlock-run has sent the stop signal itself: no process gets it a second time. */
  | { readonly kind: 'stopped' }
  /** Answered with how many processes are alive. */
  | { readonly kind: 'count' }
  /** Answered before the first one is killed; `killed` follows. */
  | { readonly kind: 'kill'; readonly until: Until }
  /** The run is over: the guard keeps the code that it had to compile, and ends. Not answered. */
  | { readonly kind: 'keep-code' };

export type ToGuard = GuardRequest & { readonly id: number };

export interface Answer {
  readonly kind: 'answer';
  /** Of the request. */
  readonly id: number;
  readonly pid?: number;
  readonly exit?: ChildExit;
  readonly count?: number;
  /** It was read too late: redlock-run does it itself. */
  readonly isDropped?: true;
  /** It had to compile code that can be kept: see 'keep-code'. */
  readonly hasCode?: boolean;
  /** This machine does not let the guard do its work. */
  readonly failure?: string;
}

/** The command has ended at these readings, and `leftCount` processes that it started have not. */
export interface Exited {
  readonly kind: 'exited';
  readonly exit: ChildExit;
  readonly readings: Readings;
  readonly leftCount: number;
}

export type FromGuard =
  | Answer
  | Exited
  /** No process of the command is left but the `unkillable` ones. */
  | { readonly kind: 'killed'; readonly unkillable: readonly number[] }
  /** A deadline has passed: redlock-run is frozen, or so slow that it might as well be. */
  | { readonly kind: 'stopping' };

/**
 * How long ago the readings were taken, at most: while a machine sleeps some clocks stop. Bun
 * counts its monotonic clock from the start of each process, so the difference is too small for the
 * readings of a process that began earlier, and too large for those of one that began later.
 */
export function mostMsSince(then: Readings, now: Readings): number {
  return Math.max(...differences(then, now));
}

/** How long ago the readings were taken, at least. */
export function leastMsSince(then: Readings, now: Readings): number {
  return Math.max(0, Math.min(...differences(then, now)));
}

function differences(then: Readings, now: Readings): number[] {
  const boot = now.boot === null || then.boot === null ? [] : [now.boot - then.boot];
  return [now.monotonic - then.monotonic, now.wall - then.wall, ...boot];
}

/**
 * Takes text piece by piece and calls back for each message; an incomplete last line is dropped.
 * A line that is no message is the end, as if the pipe were closed: `onBroken`, and nothing more.
 */
export function eachMessage<Message extends ToGuard | FromGuard>(
  onMessage: (message: Message) => void,
  onBroken: () => void,
): (text: string) => void {
  let rest = '';
  let isBroken = false;
  return (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (isBroken) return;
      const message = messageIn(line);
      if (message !== null) onMessage(message as Message);
      else {
        isBroken = true;
        onBroken();
      }
    }
  };
}

function messageIn(line: string): ToGuard | FromGuard | null {
  try {
    const message = JSON.parse(line);
    return typeof message?.kind === 'string' ? message : null;
  } catch {
    return null;
  }
}

export function asLine(message: ToGuard | FromGuard): string {
  return `${JSON.stringify(message)}\n`;
}
