// One other implementation beside our program and our library, on masters of their own: what the
// checks use, and what has to end after each of them.

import { expect } from 'vitest';
import { type Lease, Redlock, RedlockError } from '../../src/index.ts';
import type { TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { type CliResult, type CliRun, type RunOptions, startCli } from '../servers/run-cli.ts';
import { Adapter } from './adapter.ts';
import type { Implementation } from './implementations.js';
import type { Subject } from './install.ts';

/** The lock that all checks are about, without a prefix. */
export const name = 'job';

/** The lock as one master has it. */
interface Sight {
  /** The value as the master would write it to disk, of whatever type; null: there is none. */
  readonly value: string | null;
  /** In ms of the master's clock since 1970; negative: there is no key, or no end. */
  readonly expiresAt: number;
}

export class Rig {
  readonly implementation: Implementation;
  readonly masters: readonly TestMaster[];
  readonly #subject: Subject;
  readonly #adapters: Adapter[] = [];
  readonly #runs: CliRun[] = [];
  readonly #libraries: Redlock[] = [];
  readonly #leases: Lease[] = [];

  /** `masters`: as many as it needs, or more. */
  constructor(subject: Subject, masters: readonly TestMaster[]) {
    this.#subject = subject;
    this.implementation = subject.implementation;
    this.masters = masters.slice(0, subject.implementation.masterCount);
  }

  /** A process of the other implementation, ready to be asked. */
  async theirs(): Promise<Adapter> {
    const urls = this.masters.map(({ url }) => url);
    const adapter = await Adapter.start(this.#subject, urls);
    this.#adapters.push(adapter);
    return adapter;
  }

  /** The same, which holds the lock on every master. */
  async holder(ttlMs: number): Promise<Adapter> {
    const theirs = await this.theirs();
    expect([await theirs.acquire(name, ttlMs), theirs.lastError]).toEqual([true, '']);
    await eventually('all masters have it', async () => {
      return (await this.look()).every(({ value }) => value !== null);
    });
    return theirs;
  }

  /** One attempt of theirs. What it leaves behind is removed, as a caller would have to. */
  async attemptOf(theirs: Adapter, ttlMs: number): Promise<boolean> {
    const isAcquired = await theirs.acquire(name, ttlMs);
    if (!isAcquired && this.implementation.failedAttemptLeaves === 'its keys')
      await theirs.release();
    return isAcquired;
  }

  /** redlock-run with these arguments. */
  start(args: readonly string[]): CliRun {
    return this.#start(['--prefix', this.implementation.prefix, ...args]);
  }

  /** A verb of redlockctl. */
  ctl(verb: string, ...args: string[]): Promise<CliResult> {
    const all = [verb, '--prefix', this.implementation.prefix, ...args];
    return this.#start(all, { program: 'redlockctl' }).result;
  }

  #start(args: readonly string[], options: RunOptions = {}): CliRun {
    const env = {
      REDLOCK_MASTERS: this.masters.map(({ url }) => url).join(','),
      REDLOCK_RESTART_GRACE: '0',
    };
    const run = startCli(args, { timeoutMs: 120_000, ...options, env });
    this.#runs.push(run);
    return run;
  }

  /** redlock-run, which tries once. */
  once(...flags: string[]): Promise<CliResult> {
    return this.start([...flags, '-n', name, '--', 'echo', 'ran']).result;
  }

  /**
   * redlock-run that waits for the lock and holds it until it is ended. Its command ends at once,
   * so a short grace does: the later it has to be stopped, the longer an extension may take.
   */
  async program(ttl: string): Promise<CliRun> {
    const command = ['sh', '-c', 'echo ready; exec sleep 120'];
    const times = ['--ttl', ttl, '--kill-after', '100ms', '-w', '30s'];
    const run = this.start([...times, name, '--', ...command]);
    await run.says('stdout', /ready/, 40_000);
    return run;
  }

  /** A Redlock of our library. */
  library(): Redlock {
    const urls = this.masters.map(({ url }) => url);
    const { prefix } = this.implementation;
    const redlock = new Redlock(urls, { prefix, restartGraceMs: 0 });
    this.#libraries.push(redlock);
    return redlock;
  }

  /** A lease of our library that is extended until it is released. */
  async lease(ttlMs: number, waitMs: number): Promise<Lease> {
    const lease = await this.library().acquire(name, ttlMs, { waitMs, keepAlive: true });
    this.#leases.push(lease);
    return lease;
  }

  /** What one attempt of our library comes to: `acquired`, or the kind of its error. */
  async attempt(): Promise<string> {
    const redlock = this.library();
    try {
      await (await redlock.acquire(name, 5_000, { waitMs: 0 })).release();
      return 'acquired';
    } catch (error) {
      if (!(error instanceof RedlockError)) throw error;
      return error.kind;
    }
  }

  get key(): string {
    return `${this.implementation.prefix}${name}`;
  }

  /** The lock on the masters that run. */
  look(): Promise<Sight[]> {
    const running = this.masters.filter((master) => master.isRunning);
    return Promise.all(
      running.map(async (master) => ({
        value: (await master.command('dump', this.key)) as string | null,
        expiresAt: Number(await master.command('pexpiretime', this.key)),
      })),
    );
  }

  async values(): Promise<(string | null)[]> {
    return (await this.look()).map(({ value }) => value);
  }

  /** Waits until ours stands on all masters that run, the last of them too; returns that value. */
  ours(): Promise<string> {
    return eventually('ours on all masters', async () => {
      const [first, ...others] = await this.values();
      return others.every((value) => value === first) && first;
    });
  }

  /** Expects that it stands there still: at once, before ours can mend what theirs has removed. */
  async expectOurs(ours: string): Promise<void> {
    const values = await this.values();
    expect(values).toEqual(values.map(() => ours));
  }

  /** Waits until this value of ours stands on no master; returns what theirs has on each. */
  without(ours: string): Promise<Sight[]> {
    return eventually('ours is gone', async () => {
      const all = await this.look();
      return all.every(({ value }) => value !== ours) && all;
    });
  }

  /** Expects that theirs has what it had; on a master that it had not reached, it may have come. */
  async expectKept(before: readonly Sight[]): Promise<void> {
    const isTheirs = (_: Sight, index: number) => before[index]?.value !== null;
    expect((await this.look()).filter(isTheirs)).toEqual(before.filter(isTheirs));
  }

  /** When a quorum of the masters is free again, if nothing extends the lock. */
  async expiry(): Promise<number> {
    const ends = (await this.look()).map(({ expiresAt }) => expiresAt).sort((a, b) => a - b);
    return ends[Math.floor(this.masters.length / 2)] ?? Number.NaN;
  }

  /** Waits until the end of the lock is later than this. */
  async untilExtended(expiresAt: number): Promise<void> {
    await eventually('extended', async () => (await this.expiry()) > expiresAt, 20_000);
  }

  /** What each program of ours has said, to explain a failure. */
  said(): string {
    const texts = this.#runs.map(({ stdout, stderr }) => `stdout: ${stdout}\nstderr: ${stderr}`);
    return texts.join('\n');
  }

  /** Ends everything, and makes the masters run, empty. */
  async close(): Promise<void> {
    await Promise.all(this.#adapters.splice(0).map((adapter) => adapter.kill()));
    for (const run of this.#runs.splice(0)) {
      run.killAll();
      await run.result.catch(() => {});
    }
    await Promise.all(this.#leases.splice(0).map((lease) => lease.release()));
    await Promise.all(this.#libraries.splice(0).map((redlock) => redlock.close()));
    for (const master of this.masters) await (master.isRunning ? master.flush() : master.restart());
  }
}
