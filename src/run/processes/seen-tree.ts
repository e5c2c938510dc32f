// The processes of a command as far as they are found among all processes: by their parents, by the
// process group of the command, and by pid once they were seen. For systems that keep no tree
// (anything but Linux). It promises less than kept-tree.ts: an orphan in a group of its own that
// was never seen is not found.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Signal } from '../run-result.ts';
import { allProcesses, type ProcessEntry } from './process-table.ts';
import {
  type ProcessTree,
  type RunningCommand,
  send,
  sendToAll,
  undyingMs,
} from './process-tree.ts';

/** One look that finds no process proves little: one that forks may be missed. Three, apart, do. */
const emptyLookCount = 3;
const apartMs = 30;
const hastyMs = 1;
const hastyLookCount = 100;

export class SeenTree implements ProcessTree {
  readonly #command: RunningCommand;
  /** Every member that was ever seen: pid and start. */
  readonly #known = new Map<number, number>();

  constructor(command: RunningCommand) {
    this.#command = command;
  }

  /** Remembers the present members, to find them when their parents have ended. */
  look(): void {
    this.#seen();
  }

  relay(signal: Signal): void {
    const { pid, isForeground } = this.#command;
    send(isForeground ? pid : -pid, signal);
  }

  countAlive(): number {
    return this.#seen()?.length ?? 1;
  }

  isEmpty(): boolean {
    return this.countAlive() === 0;
  }

  seemsEnded(): boolean {
    return this.isEmpty();
  }

  size(): number {
    return this.countAlive();
  }

  stop(signal: Signal): void {
    sendToAll(this.#seen() ?? [], signal);
  }

  async kill(): Promise<readonly number[]> {
    const killedAt = new Map<number, number>();
    const unkillable = new Set<number>();
    for (let lookCount = 0, emptyCount = 0; ; lookCount += 1) {
      const seen = this.#seen();
      const present = seen ?? [];
      for (const pid of present) {
        const firstAt = killedAt.get(pid) ?? performance.now();
        killedAt.set(pid, firstAt);
        const isUndying = performance.now() - firstAt > undyingMs;
        if (!send(pid, 'SIGKILL') || isUndying) unkillable.add(pid);
      }
      const left = present.filter((pid) => !unkillable.has(pid));
      emptyCount = seen && left.length === 0 ? emptyCount + 1 : 0;
      if (emptyCount === emptyLookCount) return present;
      await sleep(left.length > 0 && lookCount < hastyLookCount ? hastyMs : apartMs);
    }
  }

  /** The living members; null: they cannot be listed now, as when descriptors have run out. */
  #seen(): number[] | null {
    try {
      return this.#members();
    } catch {
      return null;
    }
  }

  #members(): number[] {
    const { pid: command, isForeground } = this.#command;
    const entries = allProcesses().filter(({ pid }) => pid !== process.pid);
    const found = new Map<number, ProcessEntry>();
    for (const entry of entries) {
      const isInGroup = !isForeground && entry.group === command;
      const isKnown = this.#known.get(entry.pid) === entry.startedAt;
      if (entry.pid === command || isInGroup || isKnown) found.set(entry.pid, entry);
    }
    for (let count = -1; count !== found.size; ) {
      count = found.size;
      for (const entry of entries) if (found.has(entry.parent)) found.set(entry.pid, entry);
    }
    const members = [...found.values()];
    for (const { pid, startedAt } of members) this.#known.set(pid, startedAt);
    return members.filter(({ isAlive }) => isAlive).map(({ pid }) => pid);
  }
}
