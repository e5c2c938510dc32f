// redlock-run's side of its guard: starts it, tells it every new deadline, and starts another when it dies or goes mute.
// The surprise: the guard is told of a deadline before the command is started, so there is no moment in which the command
// runs and nobody else knows.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Root } from '../tree/tree.ts';
import { asLine, eachMessage, type FromGuard, type GuardOrders, type Readings, type ToGuard } from './protocol.ts';

/** How long a guard may take to say that it has heard of a new deadline. */
const answerMs = 2_000;
/** Guards that die faster than we can start them protect nobody. */
const mostRestarts = 3;

export interface KeeperParts {
  /** File of the guard program. */
  readonly program: string;
  readonly orders: GuardOrders;
  readonly readingsNow: () => Readings;
  /** A guard died and another one has been started. */
  readonly onRestart: () => void;
  /** The guard found a deadline passed, and has begun to stop the tree. */
  readonly onStopping: () => void;
  /** No guard can be had. */
  readonly onFailure: () => void;
}

type GuardProcess = ChildProcessByStdio<Writable, Readable, null>;

export class GuardKeeper {
  readonly #parts: KeeperParts;
  #guard: GuardProcess;
  #ready: Promise<boolean>;
  #armed: ToGuard | null = null;
  #root: ToGuard | null = null;
  #owedCount = 0;
  #restartCount = 0;
  #isDone = false;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
    [this.#guard, this.#ready] = this.#start();
  }

  get pid(): number | undefined {
    return this.#guard.pid;
  }

  /** False: it could not be started. */
  isReady(): Promise<boolean> {
    return this.#ready;
  }

  arm(stopInMs: number, killInMs: number): void {
    this.#armed = { kind: 'arm', readings: this.#parts.readingsNow(), stopInMs, killInMs };
    this.#tell(this.#armed);
    this.#owedCount += 1;
    setTimeout(() => setImmediate(() => this.#checkAnswer()), answerMs).unref();
  }

  watch(root: Root): void {
    this.#root = { kind: 'root', root };
    this.#tell(this.#root);
  }

  /** Nothing is left to guard; the guard ends. */
  done(): void {
    this.#isDone = true;
    this.#tell({ kind: 'done' });
    this.#guard.stdin.end();
  }

  #start(): [GuardProcess, Promise<boolean>] {
    const { program, orders } = this.#parts;
    const guard = spawn(process.execPath, [...frugal, program, JSON.stringify(orders)], {
      argv0: 'redlock-guard',
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
      // Without our environment, sweeps of others that go by a marker in it do not find the guard.
      env: { PATH: process.env.PATH },
      cwd: '/',
    });
    guard.stdin.on('error', () => {});
    this.#owedCount = 0;
    const ready = new Promise<boolean>((resolve) => {
      eachMessage<FromGuard>(guard.stdout, ({ kind }) => {
        if (kind === 'ready') resolve(true);
        if (kind === 'armed') this.#owedCount = 0;
        if (kind === 'stopping') this.#parts.onStopping();
      });
      guard.once('error', () => resolve(false));
      guard.once('exit', () => {
        resolve(false);
        this.#restart(guard);
      });
    });
    return [guard, ready];
  }

  #restart(died: GuardProcess): void {
    if (this.#isDone || died !== this.#guard) return;
    this.#restartCount += 1;
    if (this.#restartCount > mostRestarts) return this.#parts.onFailure();
    [this.#guard, this.#ready] = this.#start();
    if (this.#armed) this.#tell(this.#armed);
    if (this.#root) this.#tell(this.#root);
    this.#parts.onRestart();
  }

  #checkAnswer(): void {
    if (this.#owedCount > 0 && !this.#isDone) this.#guard.kill('SIGKILL');
  }

  #tell(message: ToGuard): void {
    this.#guard.stdin.write(asLine(message));
  }
}

/** A guard does nothing but wait: a small heap, and no threads to compile with. */
const frugal = ['--max-old-space-size=24', '--max-semi-space-size=1', '--v8-pool-size=0', '--no-opt'];
