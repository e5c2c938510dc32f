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
  /** It is there before it is the command, and the counters have told of its start. */
  #isAwaited = false;
  /** It was there when we began. */
  #isBeforeUs = false;

  constructor(source: CounterSource | null, tree: Tree) {
    this.#source = source;
    this.#tree = tree;
  }

  /** Whoever is started from now on may be the command, or of it. The later before its start, the longer it can be followed. */
  begin(): void {
    this.#before = known(() => this.#source?.read());
    this.#isBeforeUs = this.#isAwaited;
  }

  /** The command itself, as soon as it has been started. */
  setRoot(pid: number): void {
    if (pid === this.#root) return;
    this.#root = pid;
    this.#isAwaited = false;
    this.#isBeforeUs = false;
  }

  /** The process that will become the command, just started, which starts nobody until then: we may begin anew after it. */
  awaitRoot(pid: number): void {
    this.setRoot(pid);
    this.#isAwaited = known(() => this.#numbers()) !== null;
  }

  /** False: somebody is left, or it cannot be known in this way. */
  areGone(): boolean {
    return known(() => this.#areGone()) ?? false;
  }

  #areGone(): boolean {
    const root = this.#root;
    if (!this.#source || !root) return false;
    if (this.#isBeforeUs && !this.#isNobody({ first: root, last: root })) return false;
    let next: number | null = null;
    for (let count = 0; count < mostLooks; count += 1) {
      const numbers = this.#numbers();
      if (!numbers) return false;
      const { first, last } = numbers;
      // Who was gone stays gone, and who is somebody else’s stays so: only those who have come since.
      if (!this.#isNobody({ first: next ?? first, last })) return false;
      if (this.#source.newest() === last) return true;
      next = last + 1;
    }
    return false;
  }

  #isNobody(numbers: Numbers): boolean {
    const { pids, enclosure, isSettled } = this.#tree.scan(numbers);
    return pids.length === 0 && enclosure.length === 0 && isSettled;
  }

  /** As numbersSince(); none at all where nobody has been started since a command that was there already. */
  #numbers(): Numbers | null {
    if (!this.#source || !this.#before || !this.#root) return null;
    const { newest, startedCount } = this.#before;
    const now = this.#source.read();
    if (!this.#isBeforeUs) return numbersSince(this.#before, this.#root, now);
    const started = now.startedCount - startedCount;
    // On the whole machine, of which we may be in a PID namespace: in it nobody has come when its newest number is the same.
    const hasNobodyCome = now.newest === newest && started >= 0 && started < now.limit / 2;
    return hasNobodyCome ? { first: newest + 1, last: newest } : numbersSince(this.#before, newest + 1, now);
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
