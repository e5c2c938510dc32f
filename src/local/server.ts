// One server of the local masters: whether it is present, and its start. It becomes a daemon in a
// session of its own, with none of the caller's descriptors and almost no environment, so that it
// does not depend on the run. If it dies later, the next run starts another one.
// *Invariant:* a server that is frozen, or too busy to answer, counts as present. Another one in
// its place would make two locks out of one.

import { spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalError } from './error.ts';
import type { ServerProgram } from './server-program.ts';

const timeoutMs = 5_000;

/** The queue of connections of a frozen server is full. */
const meansPresent = new Set(['EAGAIN']);

/** No socket; a socket without a server; a server that is just ending. */
const meansAbsent = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET']);

/** Whether a server listens on this socket. Throws LocalError when that cannot be found out. */
export function isListening(socketPath: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    const settle = (code: string | undefined) => {
      socket.destroy();
      if (code === undefined || meansPresent.has(code)) resolve(true);
      else if (meansAbsent.has(code)) resolve(false);
      else
        reject(
          new LocalError(
            69,
            socketPath,
            `cannot be reached: ${code}`,
            'see what else uses this folder',
          ),
        );
    };
    socket.setTimeout(timeoutMs, () => settle('ETIMEDOUT'));
    socket.once('connect', () => settle(undefined));
    socket.once('error', (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
  });
}

/**
 * Starts a server on this socket and resolves when it listens; a stale socket is replaced. The
 * caller must have made sure that no server listens there. Throws LocalError, with the last
 * message of the server, when it does not listen within 5 s.
 */
export async function startServer(program: ServerProgram, socketPath: string): Promise<void> {
  const stem = socketPath.replace(/\.sock$/, '');
  const log = `${stem}.log`;
  const oldLogBytes = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  const endAt = performance.now() + timeoutMs;
  const fail = (why: string) =>
    new LocalError(69, socketPath, `the server did not start: ${why}`, `see ${log}`);

  const error = await launch(program, serverWords(socketPath, stem));
  if (error !== null) throw fail(error);
  while (!(await isListening(socketPath))) {
    const { pid, text } = lastLine(log, oldLogBytes);
    if (pid !== null && !isAlive(pid)) throw fail(text);
    if (performance.now() > endAt) {
      // It must not begin to listen later, in the place of another one.
      if (pid !== null) process.kill(pid, 'SIGKILL');
      const lastWords = text === '' ? '' : `; ${text}`;
      throw fail(`nothing heard in ${timeoutMs / 1000} s${lastWords}`);
    }
    await sleep(5);
  }
}

function serverWords(socketPath: string, stem: string): string[] {
  const settings = {
    port: '0',
    unixsocket: socketPath,
    unixsocketperm: '700',
    save: '',
    appendonly: 'no',
    daemonize: 'yes',
    dir: dirname(socketPath),
    pidfile: `${stem}.pid`,
    logfile: `${stem}.log`,
    'maxmemory-policy': 'noeviction',
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
}

/** Resolves with null when the program runs in the background, or with its last error message. */
function launch(
  { path, argv0, environment }: ServerProgram,
  args: string[],
): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn(path, args, {
      argv0,
      env: environment,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code) => {
      // The server itself may keep the other end of stderr open for another moment.
      if (code === 0) child.stderr.destroy();
    });
    child.once('close', (code) =>
      resolve(code === 0 ? null : said.trim().split('\n').at(-1) || `exit code ${code}`),
    );
  });
}

/** The newest line of a server's log: the pid at its beginning, and the text. */
function lastLine(log: string, fromByte: number): { pid: number | null; text: string } {
  let text = '';
  try {
    text = readFileSync(log).subarray(fromByte).toString().trim().split('\n').at(-1) ?? '';
  } catch {
    // There is no log yet.
  }
  const [, pid, rest] = /^(\d+):\w .*?\d\.\d{3} . (.*)$/.exec(text) ?? [];
  return { pid: pid === undefined ? null : Number(pid), text: rest ?? text };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
