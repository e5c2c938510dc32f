// A process that is there before the lock is and becomes the command when it is told to: a shell that waits for one line. Whoever is
// handed a lock is spared the fork, the longest step between the lock and the command. It decides nothing. The surprise: until it
// is told it is nobody's. It shows no variable of ours, and ends by itself when we are gone, because its pipe has ended then.

import type { Socket } from 'node:net';
import { type Environment, type Start, type Subprocess, startSubprocess } from './subprocess.ts';

/** Without a line, or with half of one, it does nothing. */
const script = 'IFS= read -r redlock_line <&3 && eval "$redlock_line"';
const lineDescriptor = 3;
/** The pipe is not the command's. */
const becomeCommand = `exec "$@" ${lineDescriptor}<&-`;
/** What shells add of their own accord. */
const shellNames = ['PWD', 'OLDPWD', 'SHLVL'];
const proofMs = 1_000;

export class Gate {
  readonly #environment: Environment;
  readonly #subprocess: Subprocess;

  /** `environment` is the command's but for what is only known when it passes. The command leads a session of its own. */
  constructor(start: Start, command: readonly string[], environment: Environment, stdout?: 'pipe') {
    const words = ['/bin/sh', '-c', script, 'redlock-run', ...command];
    this.#environment = environment;
    this.#subprocess = startSubprocess(start, words, {
      environment,
      isLeader: true,
      hasPipe: true,
      stdout: stdout ?? 'inherit',
    });
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
    const { exitCode, signalCode } = this.#subprocess;
    const added = Object.entries(environment).filter(([name, value]) => this.#environment[name] !== value);
    const words = added.map(([name, value = '']) => `${name}=${quoted(value)}`).join(' ');
    if (!this.pid || exitCode !== null || signalCode !== null || words.includes('\n')) return null;
    const foreign = shellNames.filter((name) => environment[name] === undefined).join(' ');
    this.#line?.end(`export ${words}; unset redlock_line ${foreign}; ${becomeCommand}\n`);
    return this.#subprocess;
  }

  /** Nobody passes any more. Resolves when the shell is gone. */
  async close(): Promise<void> {
    this.#line?.destroy();
    this.#subprocess.kill('SIGKILL');
    await this.#subprocess;
  }

  get #line(): Socket | undefined {
    return this.#subprocess.stdio[lineDescriptor] as Socket | undefined;
  }
}

/** Whether a shell finds the same program by these words as the system does. */
export function canPass([file = '']: readonly string[], { PATH }: Environment): boolean {
  return !file.startsWith('-') && (file.includes('/') || !!PATH);
}

/**
 * Whether a command that passes sees `environment` to the letter, tried with one that shows it. A shell may drop what it cannot name, and
 * some add variables of their own. False also where there is no /proc to show it.
 */
export async function isFaithful(start: Start, before: Environment, environment: Environment): Promise<boolean> {
  const gate = new Gate(start, ['cat', '/proc/self/environ'], before, 'pipe');
  const subprocess = gate.pass(environment);
  let text = '';
  subprocess?.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const timer = setTimeout(() => void gate.close(), subprocess ? proofMs : 0);
  await subprocess;
  clearTimeout(timer);
  const expected = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  return text.split('\0').slice(0, -1).sort().join('\0') === expected.sort().join('\0');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
