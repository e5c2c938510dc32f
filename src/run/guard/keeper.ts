// redlock-run's side of its guard: starts it, tells it every new deadline, and starts another when it dies or goes mute.
// The surprise: the guard is told of a deadline before the command is started, so there is no moment in which the command
// runs and nobody else knows. The first guard may have been started before this run knew what it is about.

import type { Root } from '../tree/tree.ts';
import { GuardProcess, type GuardSupply } from './guard-process.ts';
import type { Arm, GuardOrders, Readings, ToGuard } from './protocol.ts';

/** How long a guard may take to say that it has heard of a new deadline; a new one has to start first. */
const answerMs = 2_000;
const startMs = 10_000;
/** Guards that die faster than we can start them protect nobody: so many in a row, each before it was so old. */
const mostRestarts = 3;
const stableMs = 10_000;
/** For the system to tell us that a guard is gone; it is not worth a longer wait. */
const goneMs = 1_000;

export interface KeeperParts {
  readonly supply: GuardSupply;
  readonly orders: GuardOrders;
  readonly readingsNow: () => Readings;
  /** A guard died and another one has been started. */
  readonly onRestart: () => void;
  /** The guard found a deadline passed, and has begun to stop the tree. */
  readonly onStopping: () => void;
  /** No guard can be had. */
  readonly onFailure: () => void;
}

export class GuardKeeper {
  readonly #parts: KeeperParts;
  #guard: GuardProcess;
  #startedAt = 0;
  #arm: Arm | null = null;
  #root: Extract<ToGuard, { kind: 'root' }> | null = null;
  #answeredCount = 0;
  #restartCount = 0;
  #isDone = false;
  #trouble: string | null = null;
  #settleReady: () => void = () => {};
  readonly #ready = new Promise<void>((resolve) => {
    this.#settleReady = resolve;
  });

  constructor(parts: KeeperParts) {
    this.#parts = parts;
    this.#guard = this.#employ(parts.supply.spare ?? new GuardProcess(parts.supply.program));
  }

  /** Resolves when a guard listens, with null; or when none can be had, with why. */
  async ready(): Promise<string | null> {
    await this.#ready;
    return this.#trouble;
  }

  arm(stopInMs: number, killInMs: number): void {
    const count = (this.#arm?.count ?? 0) + 1;
    this.#arm = { kind: 'arm', count, readings: this.#parts.readingsNow(), stopInMs, killInMs };
    this.#guard.tell(this.#arm);
    this.#expectAnswer(this.#guard, count, answerMs);
  }

  /** The first deadline may come soon. */
  rehearse(): void {
    this.#guard.tell({ kind: 'rehearse' });
  }

  /** Told once of each: who was there before the command is known when he becomes it, and telling again would take the time of both. */
  watch(root: Root): void {
    if (root.pid === this.#root?.root.pid && root.startedAt === this.#root.root.startedAt) return;
    this.#root = { kind: 'root', root };
    this.#guard.tell(this.#root);
  }

  /** Nothing is left to guard. Resolves when the guard is gone. */
  async done(): Promise<void> {
    this.#isDone = true;
    this.#guard.kill();
    await Promise.race([this.#guard.gone, after(goneMs)]);
  }

  #employ(guard: GuardProcess): GuardProcess {
    const { orders, onStopping } = this.#parts;
    this.#startedAt = this.#parts.readingsNow().monotonic;
    this.#answeredCount = 0;
    guard.hear((message) => {
      if (message.kind === 'ready') this.#settleReady();
      if (message.kind === 'armed') this.#answeredCount = message.count;
      if (message.kind === 'stopping') onStopping();
    });
    guard.tell({ kind: 'orders', orders });
    guard.gone.then((how) => this.#replace(how));
    return guard;
  }

  #replace(how: string): void {
    if (this.#isDone) return;
    const ageMs = this.#parts.readingsNow().monotonic - this.#startedAt;
    this.#restartCount = ageMs < stableMs ? this.#restartCount + 1 : 1;
    if (this.#restartCount > mostRestarts) {
      this.#trouble = how;
      this.#settleReady();
      return this.#parts.onFailure();
    }
    this.#guard = this.#employ(new GuardProcess(this.#parts.supply.program));
    // With every deadline it looks at who is there.
    if (this.#root) this.#guard.tell(this.#root);
    if (this.#arm) {
      this.#guard.tell(this.#arm);
      this.#expectAnswer(this.#guard, this.#arm.count, startMs);
    }
    this.#parts.onRestart();
  }

  /** A guard that does not answer may be frozen. After a stall of our own its answer is read before it is missed. */
  #expectAnswer(guard: GuardProcess, count: number, withinMs: number): void {
    const check = () => {
      if (!this.#isDone && guard === this.#guard && this.#answeredCount < count) guard.kill();
    };
    setTimeout(() => setImmediate(check), withinMs).unref();
  }
}

function after(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs).unref());
}
