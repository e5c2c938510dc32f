// One guard program as redlock-run sees it: started, written to, heard, killed. It is ended by
// SIGKILL when all is over: it has nothing to tidy up, and so a guard that was stopped, or starved,
// cannot be left behind.

import type { ChildProcess } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { startOwn } from '../processes/own-children.ts';
import { asLine, eachMessage, type FromGuard, guardName, pipeDescriptor, type ToGuard } from './protocol.ts';

/** A guard does nothing but wait: a small heap, and no threads to compile with. */
export const frugal = ['--max-old-space-size=24', '--max-semi-space-size=1', '--v8-pool-size=0', '--no-opt'];

/** What Node started with must hold for the guard too: libraries that it needs, the time of day. */
const inherited = /^(PATH$|LD_|DYLD_|FAKETIME)/;

/** An executable file and the words that make it a guard. */
export interface GuardProgram {
  readonly file: string;
  readonly words: readonly string[];
  /** What its environment has besides what it inherits. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Where guards come from. */
export interface GuardSupply {
  readonly program: GuardProgram;
  /** One that has been started already and waits for orders; null: none. */
  readonly spare: GuardProcess | null;
}

export class GuardProcess {
  /** Resolves when it is gone, with how it went. Never rejects. */
  readonly gone: Promise<string>;
  readonly #process: ChildProcess | null;

  /** Starts it. It says nothing before it has been told its orders. */
  constructor({ file, words, environment }: GuardProgram) {
    try {
      // In the caller's folder, group and session, and with the caller's streams for the command
      // (callerStreams). Its own stderr is nowhere: what Node says there is not for the user.
      const guard = startOwn(file, words, {
        argv0: guardName,
        stdio: ['inherit', 'ignore', 'ignore', 'pipe', 1, 2],
        env: { ...inheritedFrom(process.env), ...environment },
      });
      // Before anything that can throw: nothing else hears of it when it could not be started.
      this.gone = new Promise((resolve) => {
        guard.once('error', (error) => resolve(error.message));
        guard.once('exit', (code, signal) => {
          resolve(signal ? `died of ${signal}` : `ended with code ${code}`);
        });
      });
      // One that was not started has no number, and Node would send our SIGKILL to number 0, which
      // is all of our own process group.
      this.#process = guard.pid === undefined ? null : guard;
      // 'exit' or 'error' follows. Out of file descriptors there may be no pipe at all.
      pipeTo(guard)?.on('error', () => {});
    } catch (error) {
      // Out of file descriptors: then there is not even a process object.
      this.#process = null;
      this.gone = Promise.resolve((error as Error).message);
    }
  }

  /** Calls back for everything that the guard says. */
  onMessage(onMessage: (message: FromGuard) => void): void {
    if (!this.#process) return;
    pipeTo(this.#process)?.setEncoding('utf8').on('data', eachMessage(onMessage));
  }

  tell(message: ToGuard): void {
    if (this.#process) pipeTo(this.#process)?.write(asLine(message));
  }

  kill(): void {
    this.#process?.kill('SIGKILL');
  }
}

/** Almost nothing of ours: CI systems that kill by a marker in the environment must not find it. */
function inheritedFrom(ours: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(ours).filter(([name]) => inherited.test(name)));
}

function pipeTo(guard: ChildProcess): Duplex | undefined {
  return guard.stdio?.[pipeDescriptor] as Duplex | undefined;
}
