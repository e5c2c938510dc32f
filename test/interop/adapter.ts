// Another implementation of the lock, as a program of its own that holds one lock at a time. It is
// asked by lines on its stdin, and answers each by a line on its stdout:
//
//   (when it has started)  -> ready
//   acquire NAME TTL_MS    -> yes | no | error TEXT      one attempt
//   extend TTL_MS          -> yes | no | error TEXT | none      none: it has no such call
//   release                -> yes | no | error TEXT
//
// It ends when its stdin ends. Its arguments are its name and the URLs of the masters.

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { eventually, isFrozen } from '../servers/processes.ts';
import { dieWithUs, forget } from '../servers/watchdog.ts';
import type { Subject } from './install.ts';

/** How long an answer may take: a minute, because some libraries wait for a master that is down. */
const answerMs = 60_000;

export class Adapter {
  /** The last answer but yes and no, to be shown when a check fails. */
  lastError = '';
  readonly #child: ChildProcess;
  readonly #waiting: ((answer: string) => void)[] = [];
  #stderr = '';

  private constructor({ args, env }: Subject, urls: readonly string[]) {
    const [program = '', ...rest] = [...args, ...urls];
    const child = spawn(program, rest, {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    if (child.pid !== undefined) dieWithUs(child.pid);
    child.stdin?.on('error', () => {}); // It was killed; the answer does not come.
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      this.#stderr = `${this.#stderr}${text}`.slice(-4_000);
    });
    if (child.stdout !== null)
      createInterface(child.stdout).on('line', (line) => this.#waiting.shift()?.(line));
    child.once('error', (error) => this.#ended(error.message));
    child.once('close', () => {
      if (child.pid !== undefined) forget(child.pid);
      this.#ended('it has ended');
    });
  }

  /** Starts it and waits until it is ready. */
  static async start(subject: Subject, urls: readonly string[]): Promise<Adapter> {
    const adapter = new Adapter(subject, urls);
    const answer = await adapter.#answer();
    if (answer !== 'ready') throw new Error(`${subject.implementation.name}: ${answer}`);
    return adapter;
  }

  /** One attempt. */
  async acquire(name: string, ttlMs: number): Promise<boolean> {
    return (await this.#ask(`acquire ${name} ${ttlMs}`)) === 'yes';
  }

  /** null: it cannot. */
  async extend(ttlMs: number): Promise<boolean | null> {
    const answer = await this.#ask(`extend ${ttlMs}`);
    return answer === 'none' ? null : answer === 'yes';
  }

  async release(): Promise<boolean> {
    return (await this.#ask('release')) === 'yes';
  }

  async freeze(): Promise<void> {
    const pid = this.#child.pid as number;
    this.#child.kill('SIGSTOP');
    await eventually('the adapter is frozen', () => isFrozen(pid));
  }

  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  /** SIGKILL: it releases nothing. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.kill('SIGKILL');
    await ended;
  }

  async #ask(line: string): Promise<string> {
    const answer = this.#answer();
    this.#child.stdin?.write(`${line}\n`);
    const said = await answer;
    if (said.startsWith('error')) this.lastError = said;
    return said;
  }

  #answer(): Promise<string> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`no answer within ${answerMs} ms\n${this.#stderr}`));
      }, answerMs);
      this.#waiting.push((answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
    });
  }

  #ended(why: string): void {
    for (const resolve of this.#waiting.splice(0)) resolve(`error ${why}: ${this.#stderr}`);
  }
}
