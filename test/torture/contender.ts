// A run of the built redlock-run, as a person starts it: a process with a command, an end, and
// signals that reach it.

import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { noConfiguration } from '../servers/no-configuration.ts';
import { dieWithUs, forget } from '../servers/watchdog.ts';
import type { Ended } from './judge.ts';
import { guardsOf, type Identity } from './processes.ts';

/** What the command does besides its work: see section.pl. */
export const shapes = [
  ...['plain', 'deaf', 'daemon', 'session', 'stopped', 'many', 'bare', 'chain', 'hops'],
] as const;
export type Shape = string;

export interface Plan {
  /** Different for each run of a cell. */
  readonly id: string;
  readonly lock: string;
  readonly shape: Shape;
  readonly workMs: number;
  readonly flags: readonly string[];
  readonly isIsolated: boolean;
  readonly isImpatient: boolean;
  /** A deliberate fault: the command runs without redlock-run. */
  readonly isLawless: boolean;
}

export interface Place {
  readonly log: string;
  /** For all runs of this process: most runs are not the first one of their user. */
  readonly cache: string;
  readonly masters: readonly string[];
}

const most = 4_000;

export class Contender {
  readonly plan: Plan;
  readonly child: ChildProcess;
  readonly pid: number;
  readonly ended: Promise<Ended>;
  hasEnded = false;
  /** A fault has been done to it or to its guard, and no other one may be. */
  isTaken = false;
  readonly #sent = new Set<NodeJS.Signals>();
  /** All guards of it that have been seen. */
  readonly guards: Identity[] = [];

  constructor(plan: Plan, { log, cache, masters }: Place) {
    this.plan = plan;
    const { id, lock, shape, workMs, flags } = plan;
    const words = [resolve('test/torture/section.pl'), log, lock, id, shape, String(workMs)];
    const shell = `exec perl "$0" "$@" "$REDLOCK_TOKEN" "$REDLOCK_FENCE"`;
    const command = ['sh', '-c', shell, ...words];
    const run = [process.execPath, resolve('bin/redlock-run.js'), ...flags, lock, '--', ...command];
    const [file = '', ...rest] = plan.isLawless ? command : run;
    this.child = spawn(file, rest, {
      env: {
        PATH: process.env.PATH,
        HOME: cache,
        XDG_CACHE_HOME: cache,
        ...noConfiguration,
        REDLOCK_MASTERS: masters.join(','),
        ...(plan.isLawless ? { REDLOCK_TOKEN: `lawless-${id}`, REDLOCK_FENCE: '0' } : {}),
      },
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    });
    const { pid } = this.child;
    if (pid === undefined) throw new Error('redlock-run could not be started');
    this.pid = pid;
    dieWithUs(pid);
    this.ended = this.#watch();
  }

  /** Signals redlock-run alone. */
  signal(name: NodeJS.Signals): void {
    if (this.hasEnded) return;
    this.#sent.add(name);
    this.child.kill(name);
  }

  /** Its guard; null: it has none at the moment. */
  guard(): Identity | null {
    if (this.hasEnded) return null;
    const guards = guardsOf(this.pid);
    for (const guard of guards) {
      if (!this.guards.some(({ pid }) => pid === guard.pid)) this.guards.push(guard);
    }
    return guards[0] ?? null;
  }

  #watch(): Promise<Ended> {
    let stderr = '';
    // Processes of the command may hold the pipe longer than redlock-run lives.
    this.child.stderr?.setEncoding('utf8').on('data', (text) => {
      stderr = (stderr + text).slice(-most);
    });
    return new Promise((resolve) => {
      this.child.once('exit', (code, signal) => {
        this.hasEnded = true;
        forget(this.pid);
        const { id, isImpatient } = this.plan;
        // What it wrote last is read by then.
        setTimeout(() => {
          this.child.stderr?.destroy();
          resolve({ run: id, code, signal, stderr, sent: this.#sent, isImpatient });
        }, 20);
      });
    });
  }
}
