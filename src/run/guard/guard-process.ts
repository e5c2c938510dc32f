// One guard program as redlock-run sees it: started, written to, heard, killed. Whether another one is needed when it is gone
// is keeper.ts's business. The surprise: it is ended by SIGKILL when all is over. It has nothing to tidy up, and so a guard
// that was stopped, or starved, cannot be left behind.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { guardMarkerName } from '../tree/tree.ts';
import { asLine, eachMessage, type FromGuard, type GuardOrders, type ToGuard } from './protocol.ts';

/** A guard does nothing but wait: a small heap, and no threads to compile with. */
export const frugal = ['--max-old-space-size=24', '--max-semi-space-size=1', '--v8-pool-size=0', '--no-opt'];

/** What Node started with must hold for the guard too: the libraries without which it may not start, and the time of day. */
const inherited = /^(PATH$|LD_|DYLD_|FAKETIME)/;

export class GuardProcess {
  /** Resolves when it is gone, with how it went. Never rejects. */
  readonly gone: Promise<string>;
  readonly #process: ChildProcessByStdio<Writable, Readable, null> | null;

  /** `program` is the file of the guard program. */
  constructor(program: string, orders: GuardOrders, onMessage: (message: FromGuard) => void) {
    try {
      const guard = spawn(process.execPath, [...frugal, program, JSON.stringify(orders)], {
        argv0: 'redlock-guard',
        detached: true,
        stdio: ['pipe', 'pipe', 'ignore'],
        env: guardEnvironment(process.env),
        cwd: '/',
      });
      // 'exit' or 'error' follows.
      for (const stream of [guard.stdin, guard.stdout]) stream.on('error', () => {});
      eachMessage(guard.stdout, onMessage);
      this.#process = guard;
      this.gone = new Promise((resolve) => {
        guard.once('error', (error) => resolve(error.message));
        guard.once('exit', (code, signal) => resolve(signal ? `died of ${signal}` : `ended with code ${code}`));
      });
    } catch (error) {
      // Out of file descriptors: then there is not even a process object.
      this.#process = null;
      this.gone = Promise.resolve((error as Error).message);
    }
  }

  tell(message: ToGuard): void {
    this.#process?.stdin.write(asLine(message));
  }

  kill(): void {
    this.#process?.kill('SIGKILL');
  }
}

/** Almost nothing of ours: sweeps of others that go by a marker in the environment must not find the guard. */
function guardEnvironment(ours: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(ours).filter(([name]) => inherited.test(name));
  return { ...Object.fromEntries(kept), [guardMarkerName]: '1' };
}
