// A redlock-run with a job that does not want to end, on real masters, observed by a witness. A
// test causes an event, and gets how the run ended and by how much the job ended before the key.
// *Note:* many of these run at a time, so a test observes the machine only through its own witness.

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, expect } from 'vitest';
import type { TestMaster } from '../servers/master.ts';
import { startMasters, stopAll } from '../servers/masters.ts';
import { childrenOf, procText } from '../servers/proc.ts';
import { eventually } from '../servers/processes.ts';
import { type CliResult, CliRun, type RunOptions } from '../servers/run-cli.ts';
import { Witness } from './witness.ts';

export const everyKind = 'plain deaf stopped group session daemon bare rabbit thief'.split(' ');
/**
 * Extended every 1.67 s; without: stop signal after 3.12 s, SIGKILL by 4.12 s, the guard 208 ms
 * later, end after 4.95 s.
 */
const hasty = ['--ttl', '5s', '-k', '1s'];
/** For tests that do not depend on times. */
export const patient = ['--ttl', '12s', '-k', '1s'];

export interface JobOptions extends RunOptions {
  /** Options of redlock-run; default: a ttl of 5 s. */
  readonly flags?: readonly string[];
  /** The name of the lock; default: a new one. */
  readonly name?: string;
  readonly kinds?: readonly string[];
  /** The job itself: stays whatever happens, leaves (see Job.leaves), or obeys. Default: stays. */
  readonly itself?: 'stays' | 'leaves' | 'obeys';
}

export interface Outcome extends CliResult {
  /** From `happened` until no process of the job was left. */
  readonly goneAfterMs: number;
  /** From then until fewer than a quorum of the masters held the key. */
  readonly marginMs: number;
}

export class Job {
  readonly run: CliRun;
  readonly name: string;
  readonly witness: Witness;
  #happenedAt = 0;

  /** A process of the job shows the name of the lock, or by default the mark of the run. */
  constructor(
    masters: readonly TestMaster[],
    command: (name: string) => readonly string[],
    options: JobOptions,
    isNamed = false,
  ) {
    const { flags = hasty, env, name = randomBytes(6).toString('hex'), ...others } = options;
    this.name = name;
    const environment = {
      REDLOCK_MASTERS: masters.map(({ url }) => url).join(','),
      REDLOCK_RESTART_GRACE: '0',
      ...env,
    };
    const args = [...flags, this.name, '--', ...command(this.name)];
    this.run = new CliRun(args, {
      timeoutMs: 25_000,
      ...others,
      env: { ...environment, JOB: this.name },
    });
    this.witness = new Witness(
      isNamed ? [this.name] : [this.name, this.run.id],
      `redlock:${this.name}`,
      masters,
    );
    started.add(this);
  }

  /** The job and all its children run, and the witness has seen them. */
  async ready(): Promise<this> {
    await this.run.says('stdout', /ready/, 20_000);
    await this.witness.looks();
    expect(this.witness.alive.length).toBeGreaterThan(0);
    return this;
  }

  /** The event happens now: all times are counted from here. */
  happens(): void {
    this.#happenedAt = performance.now();
  }

  /** A job with `stdin: 'pipe'` that leaves does so now, and all times are counted from here. */
  leaves(): void {
    this.happens();
    this.run.child.stdin?.end('\n');
  }

  get guardPid(): number {
    const [pid] = guardsOf(this.run.pid);
    if (pid === undefined) throw new Error('no guard is there');
    return pid;
  }

  /**
   * Waits until no process of the job is left, and for the end of redlock-run unless it is
   * `frozen`, which is then killed.
   */
  async outcome(state: 'ends' | 'frozen' = 'ends'): Promise<Outcome> {
    const result = state === 'ends' ? await this.run.result : null;
    await this.witness.gone(10_000);
    // At the keys, which have been released by now if they ever will be.
    await this.witness.looks();
    if (result === null) this.run.signal('SIGKILL');
    const ended = result ?? (await this.run.result);
    await eventually('the guard is gone', () => guardsOf(this.run.pid).length === 0, 3_000);
    this.#expectNoneOutlived();
    const { goneAt, freeAt } = this.witness;
    return { ...ended, goneAfterMs: goneAt - this.#happenedAt, marginMs: freeAt - goneAt };
  }

  /** As outcome(), for a job that may have ended, or never started, before the witness saw it. */
  async nothingLeft(): Promise<void> {
    for (let calm = 0; calm < 10; ) {
      await this.witness.looks();
      calm = this.witness.alive.length === 0 && guardsOf(this.run.pid).length === 0 ? calm + 1 : 0;
    }
    this.#expectNoneOutlived();
  }

  #expectNoneOutlived(): void {
    const outlived = this.witness.outlived.slice(0, 5);
    // In the first line, which a summary shows.
    const what = `alive after a quorum of masters had let the key go: ${outlived.join('; ')}`;
    expect(outlived, what).toEqual([]);
  }

  async cleanUp(): Promise<void> {
    this.witness.end();
    for (const pid of this.run.hasEnded ? [] : guardsOf(this.run.pid)) endForGood(pid);
    this.run.signal('SIGKILL');
    for (const { pid } of this.witness.alive) endForGood(pid);
    this.run.killAll();
    await this.run.result.catch(() => {});
  }
}

const started = new Set<Job>();
const sets: Promise<TestMaster[]>[] = [];

/** Three masters for jobs that do nothing to them. */
let shared: Promise<TestMaster[]> | null = null;

export async function sharedMasters(): Promise<TestMaster[]> {
  shared ??= ownMasters();
  return shared;
}

export async function ownMasters(): Promise<TestMaster[]> {
  const set = startMasters(3);
  sets.push(set);
  return set;
}

afterAll(async () => {
  await Promise.all([...started].map((job) => job.cleanUp()));
  await stopAll();
});

const family = fileURLToPath(new URL('fixtures/family.sh', import.meta.url));

/** redlock-run with a family of children. */
export function startFamily(masters: readonly TestMaster[], options: JobOptions = {}): Job {
  const { kinds = everyKind, itself = 'stays' } = options;
  return new Job(masters, (name) => ['bash', family, name, itself, ...kinds], options, true);
}

/** redlock-run with any command, which finds the name of the lock in $JOB. */
export function startJob(
  masters: readonly TestMaster[],
  command: readonly string[],
  options: JobOptions = {},
): Job {
  return new Job(masters, () => command, options);
}

/** The guards whose parent is this process. */
export function guardsOf(parent: number): number[] {
  return childrenOf(parent).filter((pid) => procText(pid, 'cmdline').startsWith('redlock-guard'));
}

export function statOf(
  pid: string | number,
): { command: string; state: string; parent: number; session: number } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const end = stat.lastIndexOf(')');
    const fields = stat.slice(end + 2).split(' ');
    const [state = '', parent, , session] = fields;
    return {
      command: stat.slice(stat.indexOf('(') + 1, end),
      state,
      parent: Number(parent),
      session: Number(session),
    };
  } catch {
    return null;
  }
}

/** The measured times, for people who read the log of the suite. */
export function measure(title: string, { goneAfterMs, marginMs }: Outcome): void {
  const rounded = (ms: number) => `${Math.round(ms)} ms`;
  process.stderr.write(
    `  ${title}: gone after ${rounded(goneAfterMs)}, margin ${rounded(marginMs)}\n`,
  );
}

export async function pass(ms: number): Promise<void> {
  await sleep(ms);
}

/**
 * What redlock-run said of the job, line by line, without warnings about clocks, which a busy
 * machine causes.
 */
export function linesOf({ stderr }: Pick<CliResult, 'stderr'>): string[] {
  return stderr.split('\n').filter((line) => line !== '' && !/ its clock went /.test(line));
}

function endForGood(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
