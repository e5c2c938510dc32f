// The command of a run that is a run itself, with all that belongs to it: what the outer run, or its guard, stops and kills. The
// surprise: nothing of it does harm but the command of the inner run, so only that counts as running.

import type { Clock } from '../../src/lock/ports.ts';
import type { NestedProgram } from './nested-program.ts';
import type { Tree } from './sim-child.ts';

export class SimNest implements Tree {
  readonly #inner: NestedProgram;

  constructor(inner: NestedProgram) {
    this.#inner = inner;
  }

  get aliveCount(): number {
    const { record, tree } = this.#inner;
    return (record.endedAt === null ? 1 : 0) + (tree?.aliveCount ?? 0);
  }

  get isRunning(): boolean {
    return this.#inner.tree?.isRunning ?? false;
  }

  /** The signal reaches everybody in the tree. */
  stop(): void {
    this.#inner.signal('SIGTERM');
    this.#inner.tree?.stop();
  }

  async kill(clock: Clock): Promise<readonly number[]> {
    this.#inner.process.die();
    return this.#inner.tree?.kill(clock) ?? [];
  }
}
