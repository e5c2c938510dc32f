// The promise as the next holder of a lock sees it: a first run, and the library in this process,
// which waits for the same lock and, when it has it, searches for the processes of the command. It
// searches once, so that it works on a crowded machine too.

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll } from 'vitest';
import { Redlock } from '../../src/index.ts';
import type { TestMaster } from '../servers/master.ts';
import { eventually } from '../servers/processes.ts';
import { type CliResult, CliRun, type RunOptions } from '../servers/run-cli.ts';
import { guardsOf, statOf } from './rig.ts';

export interface SuccessionOptions extends RunOptions {
  /** Options of the first redlock-run; default: a ttl of 6 s. */
  readonly flags?: readonly string[];
  /** The name of the lock; default: a new one. */
  readonly name?: string;
  /** What the next holder starts; default: lists the processes with the mark. */
  readonly looks?: readonly string[];
}

export class Succession {
  readonly name: string;
  /** The processes that a test has observed; what is left of them is ended with the test. */
  readonly guards = new Set<number>();
  readonly first: CliRun;
  readonly #mark: string;
  readonly #looks: readonly string[];
  readonly #masters: readonly TestMaster[];
  readonly #redlock: Redlock;
  #seen: Promise<string> | null = null;

  /** Every process of the command shows this mark in its command line. */
  constructor(
    masters: readonly TestMaster[],
    command: (mark: string) => readonly string[],
    options: SuccessionOptions = {},
  ) {
    const { flags = ['--ttl', '6s', '-k', '1s'], looks, env, ...others } = options;
    this.name = options.name ?? randomBytes(6).toString('hex');
    this.#mark = `of-${this.name}`;
    this.#masters = masters;
    this.#looks = looks ?? ['sh', '-c', lists(this.#mark)];
    const urls = masters.map(({ url }) => url);
    this.#redlock = new Redlock(urls, { restartGraceMs: 0 });
    const args = [...flags, this.name, '--', ...command(this.#mark)];
    const environment = { REDLOCK_MASTERS: urls.join(','), REDLOCK_RESTART_GRACE: '0', ...env };
    this.first = new CliRun(args, { timeoutMs: 40_000, ...others, env: environment });
    started.add(this);
  }

  /** Resolves when the command has said "ready" and the next holder waits for the lock. */
  async begun(): Promise<this> {
    await this.first.says('stdout', /ready/, 30_000);
    return this.awaited();
  }

  /** Resolves when the next holder waits for the lock, which the first run holds. */
  async awaited(): Promise<this> {
    const [file = '', ...args] = this.#looks;
    const look = async () => (await promisify(execFile)(file, args)).stdout;
    this.#seen = this.#redlock.using(this.name, 30_000, { waitMs: 60_000 }, look);
    this.#seen.catch(() => {}); // A failure counts where the test awaits it.
    await this.isQueued();
    return this;
  }

  /** Resolves when a client waits for the lock. */
  async isQueued(): Promise<void> {
    const queue = `{redlock:${this.name}}:queue`;
    const counts = () => Promise.all(this.#masters.map((master) => master.command('zcard', queue)));
    await eventually('it is in the queue', async () => (await counts()).some(Number), 30_000);
  }

  /** The output of what the next holder started when it had the lock. */
  async nextSees(): Promise<string> {
    if (this.#seen === null) throw new Error('nobody waits: await begun() first');
    return this.#seen;
  }

  /** The guard of the first run, once there is one. */
  async guard(timeoutMs = 20_000): Promise<number> {
    const pid = await eventually('a guard is there', () => guardsOf(this.first.pid)[0], timeoutMs);
    this.guards.add(pid);
    return pid;
  }

  /** How the first run ended. */
  get result(): Promise<CliResult> {
    return this.first.result;
  }

  /** The number of masters with a key of this name. */
  async keyCount(): Promise<number> {
    const key = `redlock:${this.name}`;
    const values = await Promise.all(this.#masters.map((master) => master.get(key)));
    return values.filter((value) => value !== null).length;
  }

  /** The live processes that show the mark, without redlock-run. */
  left(): number[] {
    return livingWith(this.#mark);
  }

  async cleanUp(): Promise<void> {
    const guards = [...this.guards].filter((pid) => statOf(pid)?.command === 'redlock-guard');
    for (const pid of [...guards, ...this.left()]) endForGood(pid);
    this.first.killAll();
    await this.first.result.catch(() => {});
    await this.#redlock.close();
    for (const pid of this.left()) endForGood(pid);
  }
}

const started = new Set<Succession>();

afterAll(async () => {
  await Promise.all([...started].map((succession) => succession.cleanUp()));
});

/** The path of a fixture program. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
}

/** The live processes that show this text in their command line, without redlock-run. */
function livingWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const args = commandLineOf(pid);
      return args.includes(text) && !isProgram.test(args);
    })
    .map(Number);
}

const isProgram = /redlock-run(\.js)? /;

/** The brackets keep the shell that searches from finding itself. */
function lists(mark: string): string {
  return `pgrep -af "[${mark.charAt(0)}]${mark.slice(1)}" | grep -vE '${isProgram.source}'; :`;
}

function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
  } catch {
    return ''; // It ended meanwhile.
  }
}

function endForGood(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
