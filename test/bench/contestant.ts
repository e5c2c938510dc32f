// A program that makes cycles on request, from outside: it is asked for a block of cycles and
// answers with their times. A program that does not answer in time is ended and takes no further
// part, and that is its result.

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { dieWithUs, forget } from '../servers/watchdog.ts';
import type { Installed } from './peers/cache.ts';

/** A block may take so long; one cycle of a patient peer beside a frozen master takes 3 s. */
const blockTimeoutMs = 8_000;

export class Contestant {
  readonly name: string;
  /** Why it no longer takes part, or null. */
  problem: string | null = null;
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor({ name, args, env }: Installed, urls: readonly string[]) {
    this.name = name;
    const [program = '', ...rest] = args;
    // Reading extra certificates takes 100 ms of a start.
    const { NODE_EXTRA_CA_CERTS: _, ...environment } = process.env;
    this.#child = spawn(program, [...rest, ...urls], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { ...environment, ...env },
    });
    this.#child.once('error', (error) => this.#leave(error.message));
    this.#child.stdin?.on('error', () => {}); // It has ended, which the missing answer shows.
    if (this.#child.pid !== undefined) dieWithUs(this.#child.pid);
    this.#lines = createInterface(this.#child.stdout as NodeJS.ReadableStream)[
      Symbol.asyncIterator
    ]();
  }

  /**
   * The times of so many cycles in ms; of fewer if they take longer than `limitMs` together; empty
   * after a failure.
   */
  async block(count: number, limitMs: number): Promise<number[]> {
    if (this.problem !== null) return [];
    this.#child.stdin?.write(`${count} ${limitMs}\n`);
    const line = await Promise.race([this.#lines.next(), timeout()]);
    if (line === 'timeout') this.#leave(`no answer within ${blockTimeoutMs} ms`);
    else if (line.done) this.#leave('ended');
    if (line === 'timeout' || line.done) return [];
    const answer = JSON.parse(line.value) as { ms: number[] } | { error: string };
    if ('ms' in answer) return answer.ms;
    this.#leave(answer.error);
    return [];
  }

  /** 0: it was not started. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  close(): void {
    if (this.#child.pid !== undefined) forget(this.#child.pid);
    this.#child.kill('SIGKILL');
  }

  #leave(problem: string): void {
    this.problem ??= problem;
    this.close();
  }
}

function timeout(): Promise<'timeout'> {
  return new Promise((resolve) => {
    setTimeout(() => resolve('timeout'), blockTimeoutMs).unref();
  });
}
