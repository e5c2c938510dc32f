// redlock-run's side of its guard: starts it with the command as its arguments, sends deadlines and
// requests, and receives what has happened. src/guard/README.md has the table of messages.
// *Invariant:* the guard acts by its own clock. Nothing here has to happen in time.

import './hidden-streams.ts'; // Before execa.

import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import os from 'node:os';
import type { Duplex } from 'node:stream';
import { getSystemErrorName } from 'node:util';
import { execa } from 'execa';
import { guardSlackMsOf } from '../lock/timings.ts';
import { clocksNow, instantAfter, msSince } from '../system/clock.ts';
import { cpuQuota } from '../system/cpu-quota.ts';
import { processUserOf } from '../system/process-table.ts';
import { showOutput } from './hidden-streams.ts';
import type { Child, ReportChild, TimeLeft } from './ports.ts';
import { areTooFew, tooFew } from './preconditions.ts';
import type { ChildExit, Signal } from './record.ts';

showOutput();

export interface GuardPlan {
  /** The executable of the guard. */
  readonly file: string;
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly isForeground: boolean;
  readonly isIsolated: boolean;
  /** The command is not started if stderr has been hung up. */
  readonly needsCaller: boolean;
  readonly stopSignal: Signal;
  readonly graceMs: number;
  readonly marginMs: number;
}

/** The streams of the command, the requests to each guard, and the reports of both. */
const stdio = ['inherit', 'inherit', 'inherit', 'pipe', 'pipe', 'pipe'] as const;
const requests = [3, 4] as const;
const reports = 5;

/** Starts the guard, which starts the command while the first deadline has not passed. */
export class GuardedCommand implements Child {
  /** Resolves when the guard has ended. Never rejects. */
  readonly gone: Promise<unknown> = Promise.resolve();
  readonly #plan: GuardPlan;
  readonly #report: ReportChild;
  readonly #process: GuardProcess | null;
  #pid: number | null = null;
  #hasExited = false;
  #hasReported = false;
  #isSwept = false;
  #isLost = false;

  constructor(plan: GuardPlan, timeLeft: TimeLeft, report: ReportChild) {
    this.#plan = plan;
    this.#report = report;
    const child = startGuard(plan, this.#deadlines(timeLeft), (error) => this.#failed(error));
    this.#process = child;
    if (child === null) return;
    for (const descriptor of requests) child.stdio[descriptor]?.on('error', () => {});
    const socket = (child.stdio as readonly unknown[])[reports] as Duplex;
    const exit = exitOf(child, socket);
    this.gone = exit;
    this.#listen(socket, exit);
  }

  setDeadlines(timeLeft: TimeLeft): void {
    this.#send(`deadlines ${this.#deadlines(timeLeft).join(' ')}`);
  }

  relay(signal: Signal): void {
    this.#send(`relay ${os.constants.signals[signal]}`);
  }

  stop(signal: Signal): void {
    const { graceMs, marginMs } = this.#plan;
    this.#wake();
    const guardGraceMs = Math.ceil(graceMs + guardSlackMsOf(marginMs));
    this.#send(`stop ${os.constants.signals[signal]} ${guardGraceMs}`);
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

  /** They are a little later than those of redlock-run, so that both do not do the same work. */
  #deadlines(timeLeft: TimeLeft): readonly string[] {
    const now = clocksNow(); // First: see timeLeftOf.
    const slackMs = guardSlackMsOf(this.#plan.marginMs);
    return timeLeft().map((ms) => instantAfter(now, ms + slackMs));
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
    const [number, leftCount] = values.map(Number) as [number, number];
    this.#hasReported = true;
    switch (kind) {
      case 'started':
        this.#pid = number;
        return this.#report({ kind, pid: number });
      case 'failed':
        return this.#notStarted(failureOf(errorName(number)));
      case 'hung-up':
        return this.#notStarted({ kind: 'caller-gone' });
      case 'unable':
        return this.#notStarted({ kind: 'cannot-start', why: `guard: ${values.join(' ')}` });
      case 'exited':
        return this.#exited({ kind, code: number }, leftCount, msSince(values[2] ?? ''));
      case 'signaled':
        return this.#exited(deathBy(number), leftCount, msSince(values[2] ?? ''));
      case 'stopping':
      case 'starved':
        return this.#report({ kind: 'stopping', isStarved: kind === 'starved' });
      case 'lost':
        return this.#lost();
      case 'ended':
        return this.#swept([]);
      case 'unkillable':
        return this.#sweptBut(values.map(Number).filter((pid) => pid > 0));
    }
  }

  #exited(exit: ChildExit, leftCount = 0, agoMs = 0): void {
    if (this.#hasExited) return;
    this.#hasExited = true;
    this.#report({ kind: 'exited', exit, leftCount, agoMs });
  }

  #notStarted(exit: ChildExit): void {
    this.#exited(exit);
    this.#swept([]);
  }

  /** `error`: why the guard itself could not be started. */
  #failed(error: unknown): void {
    const { code = '', message } = error as NodeJS.ErrnoException;
    const isOfCommand = code === 'E2BIG' || isShortage(code);
    const why = `guard: it does not start: ${message}`;
    this.#notStarted(isOfCommand ? failureOf(code) : { kind: 'cannot-start', why });
  }

  #lost(): void {
    if (this.#isLost || this.#isSwept) return;
    this.#isLost = true;
    if (this.#pid === null && !this.#hasExited) this.#exited({ kind: 'unknown-start' }, 1);
    else this.#report({ kind: 'guard-lost' });
  }

  /** Nothing is known of the tree any more but a number. So it does not count as ended. */
  #bothEnded(code: number | null): void {
    if (this.#isSwept) return;
    if (!this.#hasReported && code === usage)
      return this.#notStarted({ kind: 'cannot-start', why: otherVersion });
    this.#lost();
    const { isIsolated, isForeground } = this.#plan;
    if (this.#pid !== null && !isIsolated) killQuietly(isForeground ? this.#pid : -this.#pid);
    this.#sweptBut([]);
  }

  /** Something is left. Where it is not known what, the command stands for it. */
  #sweptBut(pids: readonly number[]): void {
    this.#swept(pids.length > 0 ? pids : [this.#pid ?? this.#process?.pid ?? 0]);
  }

  #swept(unkillable: readonly number[]): void {
    if (this.#isSwept) return;
    this.#isSwept = true;
    // A guard that is stopped would stay.
    if (unkillable.length === 0) setTimeout(() => this.#process?.kill('SIGKILL'), endMs).unref();
    this.#exited({ kind: 'unknown-exit' });
    const processes = unkillable.map((pid) => ({ pid, user: processUserOf(pid) }));
    this.#report({ kind: 'swept', unkillable: processes });
  }
}

type GuardProcess = Pick<ChildProcess, 'pid' | 'stdio' | 'once' | 'kill'>;

/**
 * Starts the guard with exactly these arguments and this environment, on the caller's own streams,
 * in the caller's folder. null: it is not started, and `onFailure` is called.
 */
function startGuard(
  plan: GuardPlan,
  deadlines: readonly string[],
  onFailure: (error: unknown) => void,
): GuardProcess | null {
  const { file, environment: env } = plan;
  const quota = cpuQuota();
  const args = [
    '--protocol=1',
    `--signal=${os.constants.signals[plan.stopSignal]}`,
    `--grace=${Math.ceil(plan.graceMs)}`,
    ...(quota ? [`--quota=${quota.file}`, `--quota-period=${quota.periodUs}`] : []),
    ...(plan.isForeground ? ['--foreground'] : []),
    ...(plan.isIsolated ? ['--isolate'] : []),
    ...(plan.needsCaller ? ['--unless-hung-up'] : []),
    ...deadlines,
    '--',
    ...plan.command,
  ];
  const cwd = callerFolder();
  try {
    const child =
      cwd === null
        ? spawn(file, args, { stdio: [...stdio], env })
        : execa(file, args, {
            stdio: [...stdio],
            env,
            cwd,
            extendEnv: false,
            reject: false,
            buffer: false,
            cleanup: false,
            verbose: 'none', // NODE_DEBUG would change it.
          });
    const failed = (error: unknown) => child.pid === undefined && onFailure(error);
    child.once('error', failed);
    // Some errors (E2BIG) have no event. In a folder that has been removed the promise rejects,
    // because execa asks for the folder to report an error.
    if ('then' in child) child.then(({ cause }) => failed(cause), failed);
    return child.pid === undefined ? null : child;
  } catch (error) {
    queueMicrotask(() => onFailure(error));
    return null;
  }
}

/**
 * A path to the working folder; null where it may not be entered, or no path leads to it: execa
 * always changes to a folder, and cannot stay in such a one. On Linux it is the path that also
 * leads to a folder that has been removed, or that others may not reach.
 */
function callerFolder(): string | null {
  try {
    const folder = process.platform === 'linux' ? '/proc/self/cwd' : process.cwd();
    accessSync(folder, constants.X_OK);
    return folder;
  } catch {
    return null;
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
function exitOf(child: GuardProcess, socket: Duplex): Promise<number | null> {
  return new Promise((resolve) => {
    child.once('exit', resolve);
    socket.once('close', () => setTimeout(resolve, exitMs, null).unref());
  });
}

/** The errors of a machine that can start no process now. */
function isShortage(code: string): boolean {
  return ['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE'].includes(code);
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
  if (areTooFew({ code })) return { kind: 'cannot-start', why: `command: ${tooFew}` };
  if (isShortage(code)) return { kind: 'cannot-start', why: `${noMemory} (try again)` };
  return { kind: 'not-executable', message: code };
}

function deathBy(number: number): ChildExit {
  const signals = Object.entries(os.constants.signals) as [Signal, number][];
  const [signal] = signals.find(([, known]) => known === number) ?? [];
  // Node has no names for real-time signals.
  return signal ? { kind: 'signaled', signal } : { kind: 'exited', code: 128 + number };
}

function killQuietly(target: number): void {
  try {
    process.kill(target, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
