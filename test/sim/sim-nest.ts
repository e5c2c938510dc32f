// The command of a run that is itself a run, with all its processes: what the enclosing guard stops
// and kills. Only the command of the nested run can do harm, so only that counts as running. Out of
// reach, as on another host, the enclosing run has only a connection to it.

import type { ChildExit } from '../../src/run/record.ts';
import type { NestedProgram } from './nested-program.ts';
import type { Tree } from './sim-child.ts';

export class SimNest implements Tree {
  exit: ChildExit | null = null;
  readonly #inner: NestedProgram;
  readonly #isOutOfReach: boolean;
  readonly #onEnd: () => void;
  #isCut = false;

  constructor(inner: NestedProgram, isOutOfReach: boolean, onEnd: () => void) {
    this.#inner = inner;
    this.#isOutOfReach = isOutOfReach;
    this.#onEnd = onEnd;
    inner.onTreeEnd = onEnd;
    inner.onExit = (exit) => this.#exited(exit);
  }

  get aliveCount(): number {
    const { known, tree } = this.#inner;
    if (this.#isCut) return 0;
    return (known.endedAt === null ? 1 : 0) + (tree?.aliveCount ?? 0);
  }

  get isRunning(): boolean {
    return this.#inner.tree?.isRunning ?? false;
  }

  /** The signal reaches every process in the tree. */
  stop(): void {
    if (this.#isOutOfReach) return this.#cut();
    this.#inner.signal('SIGTERM');
    this.#inner.tree?.stop();
  }

  kill(): void {
    if (this.#isOutOfReach) return this.#cut();
    for (const guard of this.#inner.guards) guard.die();
    this.#inner.process.die();
    this.#inner.tree?.kill();
  }

  #cut(): void {
    this.#isCut = true;
    this.#exited({ kind: 'signaled', signal: 'SIGTERM' });
  }

  #exited(exit: ChildExit): void {
    this.exit ??= exit;
    this.#onEnd();
  }
}
