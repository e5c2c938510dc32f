// redlock-run's side of its guard: starts it with the command as its arguments, sends deadlines and
// requests, and receives what has happened. src/guard/README.md has the table of messages.
// *Invariant:* the guard acts by its own clock. Nothing here has to happen in time.

import type { ChildProcess } from 'node:child_process';
import os from 'node:os';
import type { Duplex } from 'node:stream';
import { getSystemErrorName } from 'node:util';
import { clocksNow, instantAfter, msSince } from '../system/clock.ts';
import type { Child, Ended, TimeLeft } from './child.ts';
import { type GuardPlan, startGuard } from './guard-start.ts';
import type { ChildExit, Signal } from './record.ts';

export interface GuardListener {
  /**
   * The guard has begun to stop the tree: a deadline has passed, or (`isStarved`) ending the tree
   * under the CPU quota could take until the last one.
   */
  onStopping(isStarved: boolean): void;
  /** One of the two guards has died, and the other one ends the tree; or both have died. */
  onLost(): void;
}

/** The descriptors of the outer and the inner guard, for what is sent to them. */
const requests = [3, 4] as const;
/**
 * Both guards report here: what they have reported can be read even when a request fails, because
 * they have ended.
 */
const reports = 5;

/** Starts the guard, which starts the command while the first deadline has not passed. */
export class GuardedCommand implements Child {
  readonly started: Promise<number | undefined>;
  readonly exited: Promise<Ended>;
  readonly swept: Promise<readonly number[]>;
  /** Resolves when the guard has ended. Never rejects. */
  readonly gone: Promise<unknown>;
  readonly #plan: GuardPlan;
  readonly #listener: GuardListener;
  readonly #process: Pick<ChildProcess, 'pid' | 'stdio' | 'kill'> | null = null;
  #resolveStarted: (pid: number | undefined) => void = () => {};
  #resolveExited: (ended: Ended) => void = () => {};
  #resolveSwept: (unkillable: readonly number[]) => void = () => {};
  #pid: number | null = null;
  #hasExited = false;
  #hasReported = false;
  #isSwept = false;
  #isLost = false;

  constructor(plan: GuardPlan, timeLeft: TimeLeft, listener: GuardListener) {
    this.#plan = plan;
    this.#listener = listener;
    this.started = new Promise((resolve) => {
      this.#resolveStarted = resolve;
    });
    this.exited = new Promise((resolve) => {
      this.#resolveExited = resolve;
    });
    this.swept = new Promise((resolve) => {
      this.#resolveSwept = resolve;
    });
    let gone: Promise<unknown> = Promise.resolve();
    try {
      const { child, failure } = startGuard(plan, this.#deadlines(timeLeft));
      if (child.pid === undefined) void failure.then((error) => this.#failed(error));
      else {
        this.#process = child;
        for (const descriptor of requests) child.stdio[descriptor]?.on('error', () => {});
        const socket = (child.stdio as readonly unknown[])[reports] as Duplex;
        const exit = exitOf(child, socket);
        gone = exit;
        this.#listen(socket, exit);
      }
    } catch (error) {
      this.#failed(error);
    }
    this.gone = gone;
  }

  setDeadlines(timeLeft: TimeLeft): void {
    this.#send(`deadlines ${this.#deadlines(timeLeft).join(' ')}`);
  }

  relay(signal: Signal): void {
    this.#send(`relay ${os.constants.signals[signal]}`);
  }

  stop(signal: Signal): void {
    const { graceMs, slackMs } = this.#plan;
    this.#wake();
    this.#send(`stop ${os.constants.signals[signal]} ${Math.ceil(graceMs + slackMs)}`);
  }

  kill(): void {
    this.#wake();
    this.#send('kill');
  }

  keep(): void {
    this.#send('keep');
    this.#isSwept = true;
  }

  /** A stopped guard goes on; the outer one then continues the inner one. */
  #wake(): void {
    this.#process?.kill('SIGCONT');
  }

  #deadlines(timeLeft: TimeLeft): readonly [stopAt: string, killAt: string] {
    const { slackMs } = this.#plan;
    // The clocks are read first: see timeLeftOf.
    const now = clocksNow();
    const [stopInMs, killInMs] = timeLeft();
    return [instantAfter(now, stopInMs + slackMs), instantAfter(now, killInMs + slackMs)];
  }

  #send(line: string): void {
    for (const descriptor of requests) {
      const socket = this.#process?.stdio[descriptor] as Duplex | undefined;
      if (socket && !socket.destroyed) socket.write(`${line}\n`);
    }
  }

  /** `exit`: of the outer guard. Both guards have ended when their socket closes. */
  #listen(socket: Duplex, exit: Promise<number | null>): void {
    let rest = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#hear(line);
    });
    socket.on('error', () => {}); // 'close' follows.
    socket.once('close', () => void exit.then((code) => this.#bothEnded(code)));
  }

  #hear(line: string): void {
    const [kind, ...values] = line.split(' ');
    this.#hasReported = true;
    const number = Number(values[0]);
    switch (kind) {
      case 'started':
        this.#pid = number;
        return this.#resolveStarted(number);
      case 'failed':
        return this.#ended(failureOf(errorName(number)));
      case 'hung-up':
        return this.#ended({ kind: 'caller-gone' });
      case 'unable':
        return this.#ended({ kind: 'cannot-start', why: `guard: ${values.join(' ')}` });
      case 'exited':
        return this.#exited({ kind: 'exited', code: number }, values);
      case 'signaled':
        return this.#exited(deathBy(number), values);
      case 'stopping':
      case 'starved':
        return this.#listener.onStopping(kind === 'starved');
      case 'lost':
        return this.#lost();
      case 'ended':
        return this.#treeSwept([]);
      case 'unkillable':
        return this.#treeSwept(values.map(Number));
    }
  }

  #exited(exit: ChildExit, [, leftCount, at = '']: readonly string[]): void {
    this.#resolveStarted(this.#pid ?? undefined);
    this.#hasExited = true;
    this.#resolveExited({ exit, leftCount: Number(leftCount), agoMs: msSince(at) });
  }

  /** The command was not started, or it is not known how it ended. */
  #ended(exit: ChildExit): void {
    this.#resolveStarted(undefined);
    this.#hasExited = true;
    this.#resolveExited({ exit, leftCount: 0, agoMs: 0 });
    this.#treeSwept([]);
  }

  /** `error`: why the guard itself could not be started. */
  #failed(error: unknown): void {
    const { code, message } = error as NodeJS.ErrnoException;
    const isOfCommand = code === 'E2BIG';
    const exit = isOfCommand || isShortage(code) ? failureOf(String(code)) : null;
    this.#ended(exit ?? { kind: 'cannot-start', why: `guard: it does not start: ${message}` });
  }

  #lost(): void {
    if (this.#isLost || this.#isSwept) return;
    this.#isLost = true;
    const exit = { kind: 'unknown-start' } as const;
    if (this.#pid !== null || this.#hasExited) this.#listener.onLost();
    else this.#resolveExited({ exit, leftCount: 1, agoMs: 0 });
    this.#resolveStarted(this.#pid ?? undefined);
  }

  /** Nothing is known of the tree any more but a number. So it does not count as ended. */
  #bothEnded(code: number | null): void {
    if (this.#isSwept) return;
    if (!this.#hasReported && code === usage)
      return this.#ended({ kind: 'cannot-start', why: otherVersion });
    this.#lost();
    if (this.#pid !== null && !this.#plan.isIsolated) {
      sendTo(this.#plan.isForeground ? this.#pid : -this.#pid, 'SIGKILL');
    }
    this.#treeSwept([this.#pid ?? this.#process?.pid ?? 0]);
  }

  #treeSwept(unkillable: readonly number[]): void {
    if (this.#isSwept) return;
    this.#isSwept = true;
    // A guard that is stopped would stay.
    if (unkillable.length === 0) setTimeout(() => this.#process?.kill('SIGKILL'), endMs).unref();
    // A no-op if the exit has been reported.
    this.#resolveExited({ exit: { kind: 'unknown-exit' }, leftCount: 0, agoMs: 0 });
    this.#resolveSwept(unkillable);
  }
}

/** The exit code of a guard that does not know our arguments: it has started nothing. */
const usage = 64;
const otherVersion = 'guard: it is of another version (install the same version of all parts)';

/** How long a guard may take to end when its tree has ended. */
const endMs = 500;
/** A tracer can hide that a process has ended: this is how long its exit code is waited for. */
const exitMs = 1_000;

/** Resolves with the exit code; null: a signal has ended it, or its end is hidden. */
function exitOf(child: Pick<ChildProcess, 'once'>, socket: Duplex): Promise<number | null> {
  return new Promise((resolve) => {
    child.once('exit', resolve);
    socket.once('close', () => setTimeout(resolve, exitMs, null).unref());
  });
}

/** The errors of a machine that can start no process now. */
function isShortage(code: string | undefined): boolean {
  return ['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE'].includes(code ?? '');
}

const noProcess = 'command: no more processes are allowed (pids.max, ulimit -u)';
const noMemory = 'command: there is not enough memory to start it';

/** Node has no name for ETIME, by which the guard reports that its first deadline had passed. */
function errorName(number: number): string {
  return number === os.constants.errno.ETIME ? 'ETIME' : getSystemErrorName(-number);
}

function failureOf(code: string): ChildExit {
  if (code === 'ENOENT') return { kind: 'not-found' };
  if (code === 'ETIME') return { kind: 'never-started', reason: 'suspended' };
  if (code === 'EAGAIN') return { kind: 'cannot-start', why: `${noProcess} (try again)` };
  if (isShortage(code)) return { kind: 'cannot-start', why: `${noMemory} (try again)` };
  return { kind: 'not-executable', message: code };
}

function deathBy(number: number): ChildExit {
  const signals = Object.entries(os.constants.signals) as [Signal, number][];
  const [signal] = signals.find(([, known]) => known === number) ?? [];
  // Node has no names for real-time signals.
  return signal ? { kind: 'signaled', signal } : { kind: 'exited', code: 128 + number };
}

function sendTo(target: number, signal: Signal): void {
  try {
    process.kill(target, signal);
  } catch {
    // It has ended.
  }
}
