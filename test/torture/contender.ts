// A run of the built redlock-run, as a person starts it: a process with a command, an end, and
// signals that reach it.

import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { noConfiguration } from '../servers/no-configuration.ts';
import { dieWithUs, forget } from '../servers/watchdog.ts';
import type { Ended } from './judge.ts';
import type { Means } from './means.ts';
import { type Guards, guardsOf, type Identity } from './processes.ts';
import type { Product } from './product.ts';

/** What the command does besides its work: see section.pl. */
export const shapes = [
  ...['plain', 'deaf', 'daemon', 'session', 'stopped', 'many', 'bare', 'chain', 'hops'],
] as const;
export type Shape = string;

/** A signal that a program sends to itself: see calls.c. */
export interface Call {
  readonly program: 'redlock-run' | 'outer-guard' | 'inner-guard';
  /** start: while the command is being executed. */
  readonly number: number | 'start';
  readonly when: 'before' | 'after';
  readonly signal: 'SIGKILL' | 'SIGSTOP';
  /** After which a program that has stopped goes on. */
  readonly stoppedMs: number;
}

export interface Plan {
  /** Different for each run of a cell. */
  readonly id: string;
  /** Several names have commas between them. */
  readonly lock: string;
  readonly shape: Shape;
  readonly workMs: number;
  readonly flags: readonly string[];
  readonly isIsolated: boolean;
  readonly isImpatient: boolean;
  /** A deliberate fault: the command runs without redlock-run. */
  readonly isLawless: boolean;
  /** Whether it is the executable that runs. */
  readonly isExecutable: boolean;
  readonly call?: Call;
  /** s: shared; absent: exclusive, or a slot. */
  readonly form?: 's';
  /** How long its command takes to begin. */
  readonly startMs?: number;
  /** The words in front of redlock-run, and in front of its command. */
  readonly through?: readonly string[];
  readonly within?: readonly string[];
  /** What the shell of the command does first. */
  readonly setUp?: string;
  /** The group of processes that it begins in, and which is removed after it. */
  readonly group?: string;
  /** Only the faults of its scene are done to it. */
  readonly isReserved?: true;
  /** Exit codes, and signals that end redlock-run, which this plan explains. */
  readonly explains?: readonly (number | NodeJS.Signals)[];
}

export interface Place {
  readonly log: string;
  /** For all runs of this process: most runs are not the first one of their user. */
  readonly cache: string;
  readonly masters: readonly string[];
  readonly product: Product;
  readonly means: Means;
}

const most = 4_000;

export class Contender {
  readonly plan: Plan;
  readonly child: ChildProcess;
  readonly pid: number;
  readonly ended: Promise<Ended>;
  hasEnded = false;
  /** A fault has been done to it or to its guards, and no other one may be. */
  isTaken = false;
  readonly #sent = new Set<NodeJS.Signals>();
  /** All guards of it that have been seen. */
  readonly seenGuards: Identity[] = [];

  constructor(plan: Plan, { log, cache, masters, product, means }: Place) {
    this.plan = plan;
    const { id, lock, shape, workMs, flags } = plan;
    const words = [resolve('test/torture/section.pl'), log, lock, id, shape, String(workMs)];
    const form = `"\${REDLOCK_SLOT:-${plan.form ?? 'x'}}"`;
    const shell = `exec perl "$0" "$@" "$REDLOCK_TOKEN" "$REDLOCK_FENCE" ${form}`;
    const { through = [], within = [], setUp = '' } = plan;
    const command = [...within, 'sh', '-c', `${setUp}\n${shell}`, ...words];
    const { executable } = means;
    const program = plan.isExecutable && executable !== null ? [executable] : product.run;
    const run = [...through, ...program, ...flags, ...lock.split(','), '--', ...command];
    const [file = '', ...rest] = plan.isLawless ? command : run;
    this.child = spawn(file, rest, {
      env: {
        ...environmentIn(cache, masters),
        ...inside(plan, log, means),
        ...(plan.isLawless ? { REDLOCK_TOKEN: `lawless-${id}`, REDLOCK_FENCE: '0' } : {}),
      },
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    });
    const { pid } = this.child;
    if (pid === undefined) throw new Error('redlock-run could not be started');
    this.pid = pid;
    if (plan.call !== undefined) {
      this.isTaken = true;
      if (plan.call.program === 'redlock-run') this.#sent.add(plan.call.signal);
    }
    dieWithUs(pid);
    this.ended = this.#watch();
  }

  /** Signals redlock-run alone. */
  signal(name: NodeJS.Signals): void {
    if (this.hasEnded) return;
    this.#sent.add(name);
    this.child.kill(name);
  }

  /** Its guards; null: it does not have both at the moment. */
  guards(): Guards | null {
    if (this.hasEnded) return null;
    const guards = guardsOf(this.pid);
    for (const guard of guards ? [guards.outer, guards.inner] : []) {
      if (!this.seenGuards.some(({ pid }) => pid === guard.pid)) this.seenGuards.push(guard);
    }
    return guards;
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
        const { id, isImpatient, explains = [] } = this.plan;
        // What it wrote last is read by then.
        setTimeout(() => {
          this.child.stderr?.destroy();
          resolve({ run: id, code, signal, stderr, sent: this.#sent, isImpatient, explains });
        }, 20);
      });
    });
  }
}

/** Of both programs. */
export function environmentIn(cache: string, masters: readonly string[]): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: cache,
    XDG_CACHE_HOME: cache,
    ...noConfiguration,
    REDLOCK_MASTERS: masters.join(','),
  };
}

/** What calls.c is told; nothing: it is not there. */
function inside({ id, call, startMs = 0 }: Plan, log: string, { calls }: Means) {
  if (calls === null || (call === undefined && startMs === 0)) return {};
  const { program, number, when, signal } = call ?? never;
  const words = [program, number === 'start' ? -1 : number, when, constants.signals[signal]];
  return { LD_PRELOAD: calls, LD_TORTURE: [...words, startMs, log, id].join(' ') };
}

const never = { program: 'none', number: 0, when: 'before', signal: 'SIGKILL' } as const;
