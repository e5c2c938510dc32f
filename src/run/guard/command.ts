// Starts the command, in the guard: with exactly the arguments and environment that it is given, on
// the caller's own streams, in the caller's folder. With a terminal it stays in the caller's
// process group, so that Ctrl-C, Ctrl-Z and /dev/tty work; without one it leads a session of its
// own. execa starts it, but for the one case of `withoutFolder`.

import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import type { Readable } from 'node:stream';
import { exitInside, statusDescriptor } from '../isolation.ts';
import { execa } from '../processes/execa.ts';
import type { ChildExit } from '../run-result.ts';
import { callerStreams, type StartPlan } from './protocol.ts';

export interface StartedCommand {
  /** null: it could not be started, and `exited` says why. */
  readonly pid: number | null;
  /** Never rejects. */
  readonly exited: Promise<ChildExit>;
  /** Node has reaped the process; in a PID namespace that is after `exited`. */
  readonly reaped: Promise<void>;
}

/** A process, and what kept it from being started. */
interface Start {
  readonly child: Pick<ChildProcess, 'pid' | 'stdio' | 'once'>;
  /** Resolves with the error of a start that has failed; otherwise with anything, or never. */
  readonly failure: Promise<unknown>;
}

export function startCommand(plan: StartPlan): StartedCommand {
  try {
    const folder = callerFolder();
    return started(folder === null ? withoutFolder(plan) : inFolder(plan, folder), plan);
  } catch (error) {
    const exited = Promise.resolve(neverMissing(error as NodeJS.ErrnoException));
    return { pid: null, exited, reaped: Promise.resolve() };
  }
}

function started({ child, failure }: Start, { hasNamespace }: StartPlan): StartedCommand {
  if (child.pid === undefined) {
    return { pid: null, exited: failure.then(notStarted), reaped: Promise.resolve() };
  }
  // The promise of execa would wait for the end of the pipe as well.
  const ended = new Promise<ChildExit>((resolve) => {
    child.once('exit', (code, signal) => {
      resolve(signal ? { kind: 'signaled', signal } : { kind: 'exited', code: code ?? 0 });
    });
  });
  const inside = hasNamespace ? [exitInside(child.stdio[statusDescriptor] as Readable)] : [];
  return {
    pid: child.pid,
    exited: Promise.race([...inside, ended]),
    reaped: ended.then(() => {}),
  };
}

function inFolder(plan: StartPlan, cwd: string): Start {
  const [file = '', ...args] = plan.command;
  const child = execa(file, args, {
    ...optionsFor(plan),
    cwd,
    extendEnv: false,
    reject: false,
    buffer: false,
    cleanup: false,
    verbose: 'none', // NODE_DEBUG would change it.
  });
  // Some errors (ETXTBSY, E2BIG) have no event. In a folder that has been removed the promise
  // rejects, because execa asks for the folder to tell of an error.
  const failure = new Promise((resolve) => {
    child.once('error', resolve);
    child.then(({ cause }) => resolve(cause), resolve);
  });
  return { child, failure };
}

/**
 * By Node itself: execa always changes to a folder, and cannot stay in one that may not be entered.
 */
function withoutFolder(plan: StartPlan): Start {
  const [file = '', ...args] = plan.command;
  const child = spawn(file, args, optionsFor(plan));
  return { child, failure: new Promise((resolve) => child.once('error', resolve)) };
}

function optionsFor({ environment, isForeground, hasNamespace }: StartPlan) {
  const stdio: [...typeof callerStreams, ...'pipe'[]] = [...callerStreams];
  if (hasNamespace) stdio.push('pipe');
  return {
    stdio,
    env: environment,
    detached: !isForeground,
  };
}

/**
 * A path to the working folder; null where it may not be entered, or no path leads to it. On Linux
 * it is the one that also leads to a folder that has been removed, or that others may not reach.
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

/** `error`: as Node tells it by an event, or execa in its result. */
function notStarted(error: unknown): ChildExit {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return { kind: 'not-found' };
  return { kind: 'not-executable', message: code ?? message };
}

/**
 * `error`: thrown, which Node does for ETXTBSY and E2BIG, and never for a file that is missing.
 * execa throws an error of its own in its place where the folder has been removed, and in Bun.
 */
function neverMissing({ code, syscall }: NodeJS.ErrnoException): ChildExit {
  const isHidden = code === undefined || syscall === 'uv_cwd';
  return { kind: 'not-executable', message: isHidden ? 'the system refuses it' : code };
}
