// Starts the local masters that are missing, which is rare. One run at a time has the turn to do
// so; it looks again and starts them, and the others wait and look. *Invariant:* the second look
// comes after taking the turn, and the turn must be fresh at the moment of the start: a server that
// is started on a socket takes it away from one that is present.
//
// A server runs in a session of its own, with none of the caller's descriptors and almost no
// environment, so that it does not depend on the run. If it dies, the next run starts another one.

import { spawn } from 'node:child_process';
import {
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isListening, makePrivateDirectory, serverTimeoutMs } from './directory.ts';
import { LocalError, onDisk } from './error.ts';
import { findServerProgram, type ServerProgram } from './server-program.ts';

/** How long a turn lasts at most, by the wall clock, which goes on while the machine sleeps. */
export const turnMs = 10_000;
/** No server is started later in a turn: the rest is enough to see it listen, or to end it. */
const freshMs = 3_000;
/** A little longer than a dead run can keep its turn. */
const waitLimitMs = turnMs + 5_000;

/** Resolves when a server listens on each socket. Throws LocalError, after 15 s at the latest. */
export async function startMissing(
  directory: string,
  sockets: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  const program = findServerProgram(environment);
  if (program === null) {
    const whatToDo =
      'install one, such as `apt-get install redis-server`, or name your own masters with --master';
    throw new LocalError(69, 'redis-server or valkey-server', 'not found on PATH', whatToDo);
  }
  makePrivateDirectory(directory);
  const endAt = performance.now() + waitLimitMs;
  while ((await missing(sockets)).length > 0) {
    const turn = onDisk(directory, () => takeTurn(directory));
    if (turn !== null) {
      try {
        const absent = await missing(sockets);
        if (turn.isFresh()) await startAll(program, absent);
      } finally {
        onDisk(directory, () => turn.end());
      }
    } else if (performance.now() > endAt) {
      const why = 'another run did not finish starting the servers';
      throw new LocalError(69, directory, why, 'try again');
    } else {
      await sleep(20 + 20 * Math.random());
    }
  }
}

async function missing(sockets: readonly string[]): Promise<string[]> {
  const listening = await Promise.all(sockets.map(isListening));
  return sockets.filter((_, index) => !listening[index]);
}

/** Waits for the start or the failure of all, even if one fails: the turn is over then. */
async function startAll(program: ServerProgram, sockets: readonly string[]): Promise<void> {
  const outcomes = await Promise.allSettled(sockets.map((socket) => startServer(program, socket)));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

/**
 * Starts a server on this socket and resolves when it listens; a stale socket is replaced. Throws
 * LocalError when it ends, with its last message, or does not listen within 5 s.
 */
export async function startServer(
  { path, argv0, environment: env }: ServerProgram,
  socketPath: string,
): Promise<void> {
  const stem = socketPath.replace(/\.sock$/, '');
  const settings = {
    port: '0',
    unixsocket: socketPath,
    unixsocketperm: '700',
    save: '',
    appendonly: 'no',
    dir: dirname(socketPath),
    pidfile: `${stem}.pid`,
    'maxmemory-policy': 'noeviction',
  };
  const words = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const log = onDisk(dirname(socketPath), () => openSync(`${stem}.log`, 'a', 0o600));
  const oldLogBytes = fstatSync(log).size;
  const server = spawn(path, words, {
    argv0,
    env,
    cwd: '/',
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  let failure: string | null = null;
  server.once('error', ({ message }) => {
    failure = message;
  });
  server.once('exit', (code) => {
    failure = lastLine(`${stem}.log`, oldLogBytes) || `exit code ${code}`;
  });
  const endAt = performance.now() + serverTimeoutMs;
  while (!(await isListening(socketPath))) {
    if (failure === null && performance.now() > endAt) {
      server.kill('SIGKILL'); // It must not begin to listen later, in the place of another one.
      failure = `nothing heard in ${serverTimeoutMs / 1000} s`;
    }
    if (failure !== null) {
      const why = `the server did not start: ${failure}`;
      throw new LocalError(69, socketPath, why, `see ${stem}.log`);
    }
    await sleep(5);
  }
  server.removeAllListeners('exit'); // It may end while we run, and without its log.
  server.unref();
}

/** Without the pid, role and time at the beginning of a line of Redis. */
function lastLine(log: string, fromByte: number): string {
  const line = readFileSync(log).subarray(fromByte).toString().trim().split('\n').at(-1) ?? '';
  return line.replace(/^\d+:\w .*?\d\.\d{3} . /, '');
}

export interface Turn {
  /** Whether a server may still be started; asked last, for the case of a suspension. */
  isFresh(): boolean;
  /** Ends the turn, so that another process may take the next one. */
  end(): void;
}

/**
 * The turn, or null when another process has it. A turn is a file `turn.N`, created exclusively:
 * the highest number has the turn until `done` is written into it or `turnMs` have passed.
 * *Invariant:* no file of a process that may be alive is removed. To remove the file of a dead
 * process may remove that of another one, which took over a moment earlier. Here the next process
 * creates the next number, which only one can. The highest file stays, so that the next number is
 * known. Throws what node:fs throws.
 */
export function takeTurn(directory: string): Turn | null {
  const fileOf = (turn: number) => join(directory, `turn.${turn}`);
  const turns = () =>
    readdirSync(directory).flatMap((name) => Number(/^turn\.(\d+)$/.exec(name)?.[1] ?? []));
  const latest = Math.max(0, ...turns());
  if (latest > 0 && !isOver(fileOf(latest))) return null;
  const mine = latest + 1;
  let file: number;
  try {
    file = openSync(fileOf(mine), 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return null;
    throw error;
  }
  if (Math.max(...turns()) !== mine) {
    // Others have taken and ended turns since the look, so this lower number was free again.
    closeSync(file);
    rmSync(fileOf(mine), { force: true });
    return null;
  }
  for (const turn of turns()) if (turn < mine) rmSync(fileOf(turn), { force: true });
  const takenAt = fstatSync(file).mtimeMs;
  return {
    isFresh: () => Math.abs(Date.now() - takenAt) < freshMs,
    end() {
      // Into the open file: after its time it may have been removed, and must not come back.
      writeSync(file, 'done\n');
      closeSync(file);
    },
  };
}

function isOver(file: string): boolean {
  const { size, mtimeMs } = statSync(file, { throwIfNoEntry: false }) ?? { size: 1, mtimeMs: 0 };
  return size > 0 || Math.abs(Date.now() - mtimeMs) > turnMs;
}
