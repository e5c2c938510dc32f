// Starts the command, in the guard: with exactly the arguments and environment that it is given, on
// the caller's own streams, in the caller's folder. With a terminal it stays in the caller's
// process group, so that Ctrl-C, Ctrl-Z and /dev/tty work; without one it leads a session of its
// own. *Note:* no `cwd` is passed on: the user may have no right to enter the folder, or it may be
// removed.

import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { exitInside, statusDescriptor } from '../isolation.ts';
import type { ChildExit } from '../supervisor.ts';
import { callerStreams, type StartPlan } from './protocol.ts';

export interface StartedCommand {
  /** null: it could not be started, and `exited` says why. */
  readonly pid: number | null;
  /** Never rejects. */
  readonly exited: Promise<ChildExit>;
  /** Node has reaped the process; in a PID namespace that is after `exited`. */
  readonly reaped: Promise<void>;
}

export function startCommand(plan: StartPlan): StartedCommand {
  try {
    return started(plan);
  } catch (error) {
    // Node reports most errors of a start by an event, and some (ETXTBSY, E2BIG) by throwing.
    const exited = Promise.resolve(notStarted(error as NodeJS.ErrnoException));
    return { pid: null, exited, reaped: Promise.resolve() };
  }
}

function started({ command, environment, isForeground, hasNamespace }: StartPlan): StartedCommand {
  const [file = '', ...args] = command;
  const child = spawn(file, args, {
    stdio: [...callerStreams, ...(hasNamespace ? (['pipe'] as const) : [])],
    env: environment,
    detached: !isForeground,
  });
  const ended = new Promise<ChildExit>((resolve) => {
    child.once('error', (error) => resolve(notStarted(error as NodeJS.ErrnoException)));
    child.once('exit', (code, signal) => {
      resolve(signal ? { kind: 'signaled', signal } : { kind: 'exited', code: code ?? 0 });
    });
  });
  const inside = hasNamespace ? [exitInside(statusPipe(child))] : [];
  return {
    pid: child.pid ?? null,
    exited: Promise.race([...inside, ended]),
    reaped: ended.then(() => {}),
  };
}

function statusPipe(child: ChildProcess): Readable {
  return child.stdio[statusDescriptor] as Readable;
}

function notStarted({ code, message }: NodeJS.ErrnoException): ChildExit {
  if (code === 'ENOENT') return { kind: 'not-found' };
  return { kind: 'not-executable', message: code ?? message };
}
