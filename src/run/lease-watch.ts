// The lease of a run while the command lives: keeps it alive, and sounds two alarms when that does
// not succeed in time, begin to stop and kill. The alarms go by the local clock alone. No answer of
// a master, which may never come, can delay them; and after a stall they are looked at before
// anything is extended.

import { keepAlive, stopAtOf } from '../lock/keep-alive.ts';
import type { Clock, Random } from '../lock/ports.ts';
import type { HeldLock, Lease } from '../lock/redlock.ts';
import type { ReportRun } from './events.ts';
import type { LostReason } from './supervisor.ts';

export interface Deadlines {
  /** From the stop signal to SIGKILL. */
  readonly graceMs: number;
  /** SIGKILL comes at least so long before the end of validity. */
  readonly marginMs: number;
  readonly extendEveryMs: number;
  readonly masterTimeoutMs: number;
}

export interface LeaseWatchParts {
  readonly redlock: HeldLock;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: ReportRun;
  /** A lease has been proven: so long from now, unless told anew, stop and kill. */
  readonly onProven: (stopInMs: number, killInMs: number) => void;
  readonly onLost: (reason: LostReason) => void;
  /** See keep-alive.ts. */
  readonly onWanted: (by: string) => void;
  readonly onKillDue: () => void;
  /** A bug of ours. */
  readonly onBug: (bug: unknown) => void;
}

/** An alarm that comes so much too late was not held up by a busy machine: we were stopped, or the machine slept. */
const stalledMs = 500;
/** Telling of a deadline takes no longer than this, unless we were stopped over it. */
const promptMs = 20;

export class LeaseWatch {
  readonly #deadlines: Deadlines;
  readonly #parts: LeaseWatchParts;
  readonly #extendingEnded = new AbortController();
  readonly #watchingEnded = new AbortController();
  #lease: Lease;
  #extensionCount = 0;

  constructor(lease: Lease, deadlines: Deadlines, parts: LeaseWatchParts) {
    this.#lease = lease;
    this.#deadlines = deadlines;
    this.#parts = parts;
    this.#prove(lease);
  }

  /** The command has been started: from here on the lease is kept alive, and the alarms sound. */
  begin(): void {
    const { onBug } = this.#parts;
    this.#sound().catch(onBug);
    this.#extend().catch(onBug);
  }

  get lease(): Lease {
    return this.#lease;
  }

  get extensionCount(): number {
    return this.#extensionCount;
  }

  /** What is proven now stays proven until it ends; nothing more of ours is sent to prove it anew. */
  stopExtending(): void {
    this.#extendingEnded.abort();
  }

  /** Nothing runs under the lease any more. */
  end(): void {
    this.#extendingEnded.abort();
    this.#watchingEnded.abort();
  }

  /** The stopping of the command must have begun. */
  get isDue(): boolean {
    const { graceMs, marginMs } = this.#deadlines;
    return this.#parts.clock.now() >= stopAtOf(this.#lease, graceMs + marginMs);
  }

  #prove(lease: Lease): void {
    const { graceMs, marginMs } = this.#deadlines;
    const { clock, onProven } = this.#parts;
    this.#lease = lease;
    const tell = () => {
      const now = clock.now();
      onProven(stopAtOf(lease, graceMs + marginMs) - now, stopAtOf(lease, marginMs) - now);
      return clock.now() - now <= promptMs;
    };
    // Stopped in between, we have given more time than there is.
    if (!tell()) tell();
  }

  async #extend(): Promise<void> {
    const { redlock, clock, random, report, onLost, onWanted } = this.#parts;
    const { graceMs, marginMs, extendEveryMs, masterTimeoutMs } = this.#deadlines;
    const settings = { extendEveryMs, masterTimeoutMs, reserveMs: graceMs + marginMs };
    const ended = this.#extendingEnded.signal;
    const onLease = (lease: Lease) => {
      if (ended.aborted) return;
      this.#extensionCount += 1;
      this.#prove(lease);
    };
    const keeper = { onLease, onWanted };
    const reason = await keepAlive(redlock, this.#lease, settings, clock, random, keeper, ended, report);
    if (reason !== null) onLost(reason);
  }

  async #sound(): Promise<void> {
    const { graceMs, marginMs } = this.#deadlines;
    const { onLost, onKillDue } = this.#parts;
    const lateMs = await this.#reach((lease) => stopAtOf(lease, graceMs + marginMs));
    if (lateMs === null) return;
    onLost(lateMs > stalledMs ? 'stalled' : 'unreachable');
    if ((await this.#reach((lease) => stopAtOf(lease, marginMs))) !== null) onKillDue();
  }

  /** Resolves when the instant of the present lease has come, with how late that is noticed; null when it is over. */
  async #reach(instantOf: (lease: Lease) => number): Promise<number | null> {
    const { clock } = this.#parts;
    const ended = this.#watchingEnded.signal;
    for (;;) {
      const leftMs = instantOf(this.#lease) - clock.now();
      if (ended.aborted) return null;
      if (leftMs <= 0) return -leftMs;
      await clock.sleep(leftMs, ended);
    }
  }
}
