// Proof that nobody is left of a command, without a look at the whole machine: whoever it has started has a number after its own, and
// the kernel tells the last one that it gave out. It proves or it does not know; who is left is for sweep.ts to find. The
// surprise: one look is enough, and better than three, when that last number is the same after it. Then nobody has forked
// meanwhile; and whoever was in the middle of a fork was still there when his own, smaller number was looked at.

import type { Numbers } from './census.ts';
import type { CounterSource, Counters } from './counters.ts';
import type { Tree } from './tree.ts';

/** More than this take longer to look at one by one than all processes of a machine that has few. */
const mostNumbers = 256;
/** Numbers that were given out and not used (forks that failed), or were taken already, before we ask ourselves why. */
const mostUnused = 100;
/** Somebody else forks all the time: then it takes the long way. */
const mostLooks = 20;

/**
 * All numbers that a command and those it has started can have, it being `root`; null where that cannot be told: the numbers have
 * begun anew since, or may have, or the counters are not what they should be. `before` was read before the command was started.
 */
export function numbersSince(before: Counters, root: number, now: Counters): Numbers | null {
  const startedCount = now.startedCount - before.startedCount;
  const usedCount = now.newest - root;
  const isRising = before.newest < root && root <= now.newest;
  // Half of them: the others are an allowance for what was given out and not used.
  const mayHaveBegunAnew = !(
    startedCount > 0 &&
    startedCount < now.limit / 2 &&
    usedCount <= startedCount + mostUnused
  );
  return !isRising || mayHaveBegunAnew || usedCount >= mostNumbers ? null : { first: root, last: now.newest };
}

export class Newcomers {
  /** null: there are none, or they could not be read. */
  readonly #source: CounterSource | null;
  readonly #tree: Tree;
  #before: Counters | null = null;
  #root: number | null = null;

  constructor(source: CounterSource | null, tree: Tree) {
    this.#source = source;
    this.#tree = tree;
  }

  /** Whoever is started from now on may be the command, or of it. The later before its start, the longer it can be followed. */
  begin(): void {
    this.#before = known(() => this.#source?.read());
  }

  /** The command itself, as soon as it has been started. */
  setRoot(pid: number): void {
    this.#root = pid;
  }

  /** False: somebody is left, or it cannot be known in this way. */
  areGone(): boolean {
    return known(() => this.#areGone()) ?? false;
  }

  #areGone(): boolean {
    if (!this.#source || !this.#before || !this.#root) return false;
    let first = this.#root;
    for (let count = 0; count < mostLooks; count += 1) {
      const numbers = numbersSince(this.#before, this.#root, this.#source.read());
      if (!numbers) return false;
      const { last } = numbers;
      const { pids, enclosure, isSettled } = this.#tree.scan({ first, last });
      if (pids.length > 0 || enclosure.length > 0 || !isSettled) return false;
      if (this.#source.newest() === last) return true;
      // Who was gone stays gone, and who is somebody else’s stays so: only those who have come since.
      first = last + 1;
    }
    return false;
  }
}

/** null where it cannot be read, as when the machine is out of file descriptors. */
function known<Fact>(read: () => Fact | undefined): Fact | null {
  try {
    return read() ?? null;
  } catch {
    return null;
  }
}
