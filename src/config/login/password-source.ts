// Passwords that change: a file that is read again at each connection, and a command whose output
// is kept until a login is refused or its time is over. *Invariant:* no message contains anything
// that the file or the command has given.

import type { Failed } from '../../lock/types.ts';
import type { PasswordSource } from '../../redis/address.ts';
import { failed, isFailed } from '../../redis/errors.ts';
import { readTextFile } from '../text-file.ts';

const maxRunMs = 10_000;
/** The pause after a run of the command before a failure, or a refused login, starts it again. */
const minPauseMs = 1_000;
/** In characters; tokens of cloud providers have some thousands. */
const maxChars = 65_536;

/** What a file with a password holds: one line break at its end is not part of it. */
export function passwordIn(text: string): string {
  return text.replace(/\r?\n$/, '');
}

/** A file that cannot be read at the moment, or is empty, counts with what it held before. */
export class PasswordFile implements PasswordSource {
  readonly #path: string;
  #password: string;

  constructor(path: string, password: string) {
    this.#path = path;
    this.#password = password;
  }

  async password(): Promise<string> {
    try {
      this.#password = passwordIn(readTextFile(this.#path).bytes.toString()) || this.#password;
    } catch {
      // It is being replaced. If the password is wrong, the server will say so.
    }
    return this.#password;
  }

  renewInMs(): null {
    return null;
  }
}

/** The output of `/bin/sh -c COMMAND`. */
export class PasswordCommand implements PasswordSource {
  readonly #command: string;
  readonly #subject: string;
  readonly #ttlMs: number | null;
  #running: Promise<string | Failed> | null = null;
  #last: string | Failed | null = null;
  /** By the time of day, which goes on while the machine sleeps. */
  #ranAt = 0;

  /** `ttlMs`: how long an output counts; null: until a server refuses it. */
  constructor(command: string, subject: string, ttlMs: number | null) {
    this.#command = command;
    this.#subject = subject;
    this.#ttlMs = ttlMs;
  }

  async password(refused: string | null = null): Promise<string | Failed> {
    const agoMs = Math.abs(Date.now() - this.#ranAt);
    const isOver = agoMs >= (this.#ttlMs ?? Number.POSITIVE_INFINITY);
    const isUseless = isFailed(this.#last) || this.#last === refused;
    if (this.#last !== null && !isOver && !(isUseless && agoMs >= minPauseMs)) return this.#last;
    this.#running ??= this.#run();
    return this.#running;
  }

  renewInMs(): number | null {
    if (this.#ttlMs === null) return null;
    const leftMs = isFailed(this.#last) ? 0 : this.#ttlMs - Math.abs(Date.now() - this.#ranAt);
    return Math.max(minPauseMs, leftMs);
  }

  /** Never rejects: `spawn` throws when memory is short, for one. */
  async #run(): Promise<string | Failed> {
    const answer = await outputOf(this.#command).catch(() => notStarted);
    this.#last =
      typeof answer === 'string' ? answer : failed('denied', `${this.#subject}: ${answer.why}`);
    this.#ranAt = Date.now();
    this.#running = null;
    return this.#last;
  }
}

const notStarted = { why: 'cannot be started (see /bin/sh)' };

/** The one line that the command prints, or why there is none. Rejects where `spawn` throws. */
async function outputOf(command: string): Promise<string | { readonly why: string }> {
  const { spawn } = await import('node:child_process');
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', command], {
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    let output = '';
    const kill = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // It has ended.
      }
    };
    const end = (answer: string | { readonly why: string }) => {
      clearTimeout(timeout);
      process.off('exit', kill);
      kill();
      child.stdout?.destroy();
      resolve(answer);
    };
    const timeout = setTimeout(
      () => end({ why: `has not ended within ${maxRunMs / 1000} s (run it by hand)` }),
      maxRunMs,
    );
    process.once('exit', kill);
    child.stdout?.setEncoding('utf8');
    child.stdout?.on('data', (chunk: string) => {
      output += chunk;
      if (output.length > maxChars)
        end({ why: 'prints too much (let it print the password alone)' });
    });
    child.once('error', () => end(notStarted));
    child.once('close', (code, signal) => {
      const password = passwordIn(output);
      if (code !== 0)
        end({ why: `${code === null ? `died of ${signal}` : `exited ${code}`} (run it by hand)` });
      else if (password === '') end({ why: 'printed nothing (let it print the password)' });
      else if (/[\r\n]/.test(password))
        end({ why: 'printed more than one line (let it print the password alone)' });
      else end(password);
    });
  });
}
