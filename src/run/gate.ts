// A process that is there before the lock is and becomes the command when it is told to: a shell that waits for one line. Whoever is
// handed a lock is spared the fork, the longest step between the lock and the command. It decides nothing. The surprise: until it
// is told it is nobody's. It shows no variable of ours, and ends by itself when we are gone, because its pipe has ended then.

import type { Socket } from 'node:net';
import { type Environment, type Start, type Subprocess, type SubprocessPlan, startSubprocess } from './subprocess.ts';
import { send } from './tree/sweep.ts';

/** Without a line, or with half of one, it does nothing. */
const script = 'IFS= read -r redlock_line <&3 && eval "$redlock_line"';
const lineDescriptor = 3;
/** The pipe is not the command's. */
const becomeCommand = `exec "$@" ${lineDescriptor}<&-`;
/** What shells add of their own accord. */
const shellNames = ['PWD', 'OLDPWD', 'SHLVL'];

export class Gate {
  readonly #environment: Environment;
  readonly #subprocess: Subprocess;

  /** `environment` is the command's but for what is only known when it passes. The command leads a session of its own. */
  constructor(start: Start, command: readonly string[], environment: Environment, streams?: SubprocessPlan['streams']) {
    const words = ['/bin/sh', '-c', script, 'redlock-run', ...command];
    this.#environment = environment;
    const plan = { environment, isLeader: true, hasPipe: true };
    this.#subprocess = startSubprocess(start, words, streams ? { ...plan, streams } : plan);
    this.#line?.on('error', () => {}); // The shell has been killed, which its exit tells.
  }

  get pid(): number | undefined {
    return this.#subprocess.pid;
  }

  /**
   * Becomes the command, with the variables of `environment`: those of the gate and more, or other values. null: it cannot, because it
   * has been killed or a value has several lines, and nothing was started.
   */
  pass(environment: Environment): Subprocess | null {
    const added = Object.entries(environment).filter(([name, value]) => this.#environment[name] !== value);
    const exports = added.map(([name, value = '']) => `export ${name}=${quoted(value)}; `).join('');
    if (!this.pid || !this.#isThere || exports.includes('\n')) return null;
    const foreign = shellNames.filter((name) => environment[name] === undefined).join(' ');
    this.#line?.end(`${exports}unset redlock_line ${foreign}; ${becomeCommand}\n`);
    return this.#subprocess;
  }

  /** Nobody passes any more. Resolves when the shell is gone, or whoever it has become. */
  async close(): Promise<void> {
    for (const stream of this.#subprocess.stdio) stream?.destroy();
    // Without a number it would be everybody in our own group, and when it is gone the number may be another's.
    if (!this.pid || !this.#isThere) return;
    const gone = new Promise((resolve) => this.#subprocess.once('exit', resolve));
    send(-this.pid, 'SIGKILL');
    await gone;
  }

  get #isThere(): boolean {
    return this.#subprocess.exitCode === null && this.#subprocess.signalCode === null;
  }

  get #line(): Socket | undefined {
    return this.#subprocess.stdio[lineDescriptor] as Socket | undefined;
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
