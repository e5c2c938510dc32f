// Virtual time: a heap of events, and a loop that runs them one by one. No clock, timer or chance
// of the real machine has any influence. All promises that an event has settled have run before the
// next one begins. Code that awaits is therefore simulated as it is.

import { EventHeap, type Scheduled } from './event-heap.ts';
import { Random } from './random.ts';
import { installAbort } from './sim-abort.ts';
import type { SimProcess } from './sim-process.ts';
import { installTimers } from './sim-timers.ts';
import { Trace } from './trace.ts';

/** Node's own event loop turns after so many events, for what else runs in this process. */
const eventsPerTurn = 1_000;

export class World {
  readonly random: Random;
  readonly trace: Trace;
  /** True time in ms since the beginning; no process in the world can read it. */
  now = 0;
  /** The process whose code is running; null: the network's, a server's or the weather's. */
  current: SimProcess | null = null;
  eventCount = 0;
  readonly #heap = new EventHeap();
  #sequence = 0;
  #crash: { readonly error: unknown } | null = null;

  constructor(seed: number | string, isTraceKept = false) {
    this.random = new Random(seed);
    this.trace = new Trace(isTraceKept);
  }

  at(instant: number, action: () => void): Scheduled {
    this.#sequence += 1;
    const item = {
      at: Math.max(instant, this.now),
      sequence: this.#sequence,
      action,
      isCancelled: false,
    };
    this.#heap.push(item);
    return item;
  }

  after(ms: number, action: () => void): Scheduled {
    return this.at(this.now + ms, action);
  }

  note(actor: string, what: string): void {
    this.trace.note(this.now, actor, what);
  }

  mark(name: string): void {
    this.trace.mark(name);
  }

  /** Something was thrown where nothing may be: the world stops and reports it. */
  readonly crash = (error: unknown): void => {
    this.#crash ??= { error };
  };

  /** Runs everything up to `until`, or until `isOver`. Rejects with what an event throws. */
  run(until: number, isOver: () => boolean = () => false): Promise<void> {
    return new Promise((resolve, reject) => {
      const uninstall = [installTimers(this), installAbort()];
      const end = (settle: () => void) => {
        for (const restore of uninstall) restore();
        settle();
      };
      const turn = () => {
        this.current = null;
        const crash = this.#crash;
        if (crash) return end(() => reject(crash.error));
        const next = this.#next(until);
        if (next === null || isOver()) {
          this.now = next === null ? Math.max(this.now, until) : this.now;
          return end(resolve);
        }
        this.now = next.at;
        this.eventCount += 1;
        try {
          next.action();
        } catch (error) {
          return end(() => reject(error));
        }
        if (this.eventCount % eventsPerTurn === 0) setImmediate(turn);
        else afterPromises(turn);
      };
      setImmediate(turn);
    });
  }

  /** The next event by `until`; a later one stays in the heap. */
  #next(until: number): Scheduled | null {
    for (let next = this.#heap.peek(); next !== undefined; next = this.#heap.peek()) {
      if (next.at > until) return null;
      this.#heap.pop();
      if (!next.isCancelled) return next;
    }
    return null;
  }
}

/**
 * Calls it once every promise that is settled has run, and those that they settle. Node runs all
 * microtasks before the next tick; this costs a tenth of a turn of its event loop, and less than
 * queueMicrotask, which makes a resource each time.
 */
export function afterPromises(action: () => void): void {
  void settled.then(() => process.nextTick(action));
}

const settled = Promise.resolve();
