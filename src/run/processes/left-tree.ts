// The processes of a command with a guard that is dead or does not act, as redlock-run sees them:
// those below the guard, as long as it exists, and those that redlock-run has inherited from it.
// *Note:* a guard that stands still reaps nothing, so what ends below it stays to be seen, and a
// number there is not used again. One that goes on may reap at any moment: the start of a process
// is compared directly before a signal.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Signal } from '../supervisor.ts';
import type { KeptTree } from './kept-tree.ts';
import type { WaitStatus } from './libc.ts';
import { childrenOf, type ProcessEntry, processEntry } from './process-table.ts';
import { type ProcessId, type ProcessTree, send, undyingMs } from './process-tree.ts';
import { holdsNamespace } from './tree-look.ts';

/**
 * How many looks must agree that no process is left. A chain of forks below a guard that stands
 * still can hide from one: the next of the chain belongs to the guard before it is seen.
 */
const emptyLookCount = 3;
const lookMs = 1;

export class LeftTree implements ProcessTree {
  readonly #guard: ProcessId;
  readonly #hasNamespace: boolean;
  readonly #inherited: KeptTree;
  /** Each process that the last look has seen, living or ended: its pid and start. */
  #seen = new Set<string>();

  /** `inherited`: what is redlock-run's own once the guard has ended. */
  constructor(guard: ProcessId, hasNamespace: boolean, inherited: KeptTree) {
    this.#guard = guard;
    this.#hasNamespace = hasNamespace;
    this.#inherited = inherited;
  }

  /** The exit status of the command, where it has ended and was ours by then; null: unknown. */
  get commandStatus(): WaitStatus | null {
    return this.#inherited.commandStatus;
  }

  look(): void {
    this.#inherited.look();
  }

  relay(signal: Signal): void {
    this.#inherited.relay(signal);
  }

  members(): readonly ProcessId[] {
    return [...this.#living(), ...this.#inherited.members()];
  }

  countAlive(): number {
    for (let lookCount = 0; lookCount < emptyLookCount; ) {
      const { living, isNew } = this.#lookBelow();
      if (living.length > 0) return living.length;
      lookCount = isNew ? 0 : lookCount + 1;
    }
    return this.#inherited.countAlive();
  }

  stop(signal: Signal): void {
    const targets = this.#living();
    for (const target of targets) sendTo(target, signal);
    for (const target of targets) sendTo(target, 'SIGCONT');
    this.#inherited.stop(signal);
  }

  async kill(): Promise<readonly number[]> {
    const unkillable = await this.#killBelow();
    // What was below the guard when it ended is ours now.
    return [...unkillable, ...(await this.#inherited.kill())];
  }

  async #killBelow(): Promise<readonly number[]> {
    const killedAt = new Map<number, number>();
    const unkillable = new Set<number>();
    for (let emptyCount = 0; emptyCount < emptyLookCount; ) {
      const { living, isNew } = this.#lookBelow(true);
      for (const entry of living) {
        const firstAt = killedAt.get(entry.pid) ?? performance.now();
        killedAt.set(entry.pid, firstAt);
        this.#killGroup(entry);
        const isUndying = performance.now() - firstAt > undyingMs;
        if (!sendTo(entry, 'SIGKILL') || isUndying) unkillable.add(entry.pid);
      }
      const isEmpty = living.every(({ pid }) => unkillable.has(pid)) && !isNew;
      emptyCount = isEmpty ? emptyCount + 1 : 0;
      // Again at once as long as new ones appear: a chain of forks must not outrun this loop.
      if (!isNew) await sleep(lookMs);
    }
    return [...unkillable];
  }

  /** A group of a session that was founded in the tree dies in one step: no member can fork. */
  #killGroup({ pid, group, session, startedAt }: ProcessEntry): void {
    const isFounded = session !== ownSession && group !== this.#guard.pid;
    if (isFounded && processEntry(pid)?.startedAt === startedAt) send(-group, 'SIGKILL');
  }

  #living(): ProcessEntry[] {
    return this.#lookBelow().living;
  }

  /**
   * The living processes below the guard, the youngest first. `isNew`: there is one, living or
   * ended, that the look before had not seen, so something may fork.
   */
  #lookBelow(isWhole = false): { readonly living: ProcessEntry[]; readonly isNew: boolean } {
    const guard = processEntry(this.#guard.pid);
    const isThere = guard !== null && guard.startedAt === this.#guard.startedAt;
    const pids = isThere ? childrenOf(guard.pid) : [];
    for (const pid of pids) pids.push(...childrenOf(pid));
    const entries = pids.flatMap((pid) => processEntry(pid) ?? []);
    const names = entries.map(({ pid, startedAt }) => `${pid} ${startedAt}`);
    const isNew = names.some((name) => !this.#seen.has(name));
    this.#seen = new Set(names);
    const all = entries.filter(({ isAlive }) => isAlive);
    const living =
      this.#hasNamespace && !isWhole ? all.filter(({ pid }) => !holdsNamespace(pid)) : all;
    return { living: living.sort((one, other) => other.startedAt - one.startedAt), isNew };
  }
}

const ownSession = processEntry(process.pid)?.session;

/** False where that is not permitted. */
function sendTo({ pid, startedAt }: ProcessEntry, signal: Signal): boolean {
  return processEntry(pid)?.startedAt !== startedAt || send(pid, signal);
}
