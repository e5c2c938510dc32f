// The built program as a user has it: a process of its own, in a clean environment and an empty
// folder. Tests see only what a user can see: exit code, signal, the two streams, the duration. A
// run that takes too long fails the test and is killed with all its processes; a warning of Node on
// stderr fails it as well.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, expect } from 'vitest';
import { noConfiguration } from './no-configuration.ts';
import { generous } from './patience.ts';
import { eventually } from './processes.ts';
import { sharedCache } from './shared-cache.ts';
import { MARK, type Survivor, survivorsOf } from './survivors.ts';
import { scratchFolder } from './watchdog.ts';

export interface RunOptions {
  /** Set on top of PATH, a HOME of its own and an empty configuration; undefined removes. */
  env?: Record<string, string | undefined>;
  /** Default: the empty HOME. */
  cwd?: string;
  /** Its stdin; default: nothing (/dev/null). 'pipe' leaves it open for `child.stdin`. */
  stdin?: string | 'pipe';
  /** Default 20 s; longer on a machine that is slow. */
  timeoutMs?: number;
  /** Which program; default: redlock-run. */
  program?: 'redlock-run' | 'redlockctl';
  /** Another copy of it. */
  path?: string;
  /** A program with its arguments that becomes redlock-run, as setpriv(1) does. */
  through?: readonly string[];
}

export interface CliResult {
  /** null when it died of a signal. */
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** From before the start until both streams were closed. */
  elapsedMs: number;
}

/** Another build of the programs, such as the standalone executable, to be tested in its place. */
const other = process.env.REDLOCK_RUN_PROGRAM;
export const isStandalone = Boolean(other);
/** What runs the programs: Node, or env(1), which becomes the executable it is given. */
export const interpreter = other ? '/usr/bin/env' : process.execPath;
/** The path of a built program that Node runs, whatever build is tested. */
export const nodeProgram = (name: string): string =>
  fileURLToPath(new URL(`../../bin/${name}.js`, import.meta.url));
/** The path of a program. */
export const pathOf = (name: string): string =>
  other ? join(dirname(resolve(other)), name) : nodeProgram(name);
/** The path of redlock-run. */
export const program = pathOf('redlock-run');

/**
 * A redlock-run that has been started. A test may watch it and signal it, and must await its
 * result.
 */
export class CliRun {
  readonly id = randomBytes(8).toString('hex');
  readonly child: ChildProcess;
  /** Settles when the program has ended and its streams are closed. */
  readonly result: Promise<CliResult>;
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], options: RunOptions) {
    const home = mkdtempSync(join(scratchFolder(), 'home-'));
    const {
      env = {},
      cwd = home,
      stdin = '',
      timeoutMs = 20_000,
      through = [],
      program = 'redlock-run',
      path = pathOf(program),
    } = options;
    const [file = '', ...rest] = [...through, interpreter, path, ...args];
    const startedAt = performance.now();
    this.child = spawn(file, rest, {
      cwd,
      env: {
        PATH: process.env.PATH,
        HOME: home,
        XDG_CACHE_HOME: sharedCache(),
        ...noConfiguration,
        [MARK]: this.id,
        ...env,
      },
      stdio: [stdin === '' ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      detached: true, // A session of its own: no terminal, and one group to kill.
    });
    this.result = this.#watch(startedAt, generous(timeoutMs));
    this.result.catch(() => {}); // A failure counts where the test awaits it, and in afterEach.
    // The program may end without reading.
    if (stdin !== 'pipe') this.child.stdin?.on('error', () => {}).end(stdin);
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error('redlock-run could not be started');
    return this.child.pid;
  }

  /** Its end is known: from now on another process may have its pid. */
  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Waits until the program has written this, and returns the match. */
  async says(
    stream: 'stdout' | 'stderr',
    pattern: RegExp,
    timeoutMs = 10_000,
  ): Promise<RegExpExecArray> {
    return eventually(
      `${stream} says ${pattern}`,
      () => pattern.exec(this[stream]),
      timeoutMs,
    ).catch((error) => {
      throw new Error(`${error.message}\n${this.#streams()}`);
    });
  }

  /** Signals the program alone, as kill(1) does. Nothing happens when it has ended. */
  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** Signals the program and its process group, as the terminal does on Ctrl-C. */
  signalGroup(name: NodeJS.Signals): void {
    process.kill(-this.pid, name);
  }

  /** The live processes of this run, the program itself included. */
  survivors(): Survivor[] {
    return survivorsOf(this.id);
  }

  /** Sends SIGKILL to all of them. */
  killAll(): void {
    const pids = [...(this.hasEnded ? [] : [-this.pid]), ...this.survivors().map(({ pid }) => pid)];
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
    }
  }

  #watch(startedAt: number, timeoutMs: number): Promise<CliResult> {
    this.#collect('stdout');
    this.#collect('stderr');
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.killAll();
        reject(new Error(`redlock-run took more than ${timeoutMs} ms\n${this.#streams()}`));
      }, timeoutMs);
      this.child.once('error', reject);
      this.child.once('close', (code, signal) => {
        clearTimeout(timer);
        const { stdout, stderr } = this;
        if (/^\(node:\d+\) /m.test(stderr)) reject(new Error(`Node warned\n${this.#streams()}`));
        resolve({ code, signal, stdout, stderr, elapsedMs: performance.now() - startedAt });
      });
    });
  }

  #collect(stream: 'stdout' | 'stderr'): void {
    (this.child[stream] as Readable).setEncoding('utf8').on('data', (text) => {
      this[stream] += text;
    });
  }

  #streams(): string {
    return `stdout: ${this.stdout}\nstderr: ${this.stderr}`;
  }
}

const runs: CliRun[] = [];

/** Starts the built redlock-run with these arguments. */
export function startCli(args: readonly string[], options: RunOptions = {}): CliRun {
  const run = new CliRun(args, options);
  runs.push(run);
  return run;
}

/** Runs the built redlock-run with these arguments to its end. Any exit code is a result. */
export async function runCli(
  args: readonly string[],
  options: RunOptions = {},
): Promise<CliResult> {
  return startCli(args, options).result;
}

// Every file that imports this one has this check after each test. A guard may take a moment to
// notice its end.
afterEach(async () => {
  let left: Survivor[] = [];
  const isNothingLeft = () => {
    left = survivorsOf(...runs.map(({ id }) => id));
    return left.length === 0;
  };
  try {
    // The next line names what is left.
    await eventually('nothing left', isNothingLeft, 2_000).catch(() => {});
    expect(left, 'processes left behind').toEqual([]);
  } finally {
    for (const run of runs.splice(0)) run.killAll();
  }
});
