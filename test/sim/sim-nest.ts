// The command of a run that is itself a run, with all its processes: what the enclosing run, or its
// guard, stops and kills. Only the command of the nested run can do harm, so only that counts as
// running. Out of reach, as on another host, the enclosing run has only a connection to it.

import type { Clock } from '../../src/lock/ports.ts';
import type { ChildExit } from '../../src/run/run-result.ts';
import type { NestedProgram } from './nested-program.ts';
import type { Tree } from './sim-child.ts';

export class SimNest implements Tree {
  readonly #inner: NestedProgram;
  /** Called when the connection to it is cut; null: it is in reach. */
  readonly #onCut: ((exit: ChildExit) => void) | null;
  #isCut = false;

  constructor(inner: NestedProgram, onCut: ((exit: ChildExit) => void) | null) {
    this.#inner = inner;
    this.#onCut = onCut;
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
    if (this.#onCut) return this.#cut(this.#onCut);
    this.#inner.signal('SIGTERM');
    this.#inner.tree?.stop();
  }

  async kill(clock: Clock): Promise<readonly number[]> {
    if (this.#onCut) {
      this.#cut(this.#onCut);
      return [];
    }
    this.#inner.process.die();
    return this.#inner.tree?.kill(clock) ?? [];
  }

  #cut(tell: (exit: ChildExit) => void): void {
    if (this.#isCut) return;
    this.#isCut = true;
    tell({ kind: 'signaled', signal: 'SIGTERM' });
  }
}
