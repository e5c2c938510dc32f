// The processes of a command as far as they are found among all processes: by parent, by the
// sessions that they have created, and by pid once they were seen. For systems that keep no tree
// (anything but Linux), and for a guard that was started after the command. It promises less than
// kept-tree.ts: an orphan in a session of its own that was never seen is not found.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Signal } from '../run-result.ts';
import { allProcesses, type ProcessEntry } from './process-table.ts';
import {
  type ProcessId,
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
/**
 * How long a session is remembered in which no process was seen, since a look may miss a chain of
 * forks. Later its number may belong to another session.
 */
const forgottenMs = 10_000;

export interface SeenTreeParts {
  /** The process whose descendants belong to the command. */
  readonly root: ProcessId;
  /** The command, where it is the root itself; null: the root is redlock-run, its parent. */
  readonly command: RunningCommand | null;
  /** Processes that belong to the command, also when the root has ended; default: none is known. */
  readonly members?: readonly ProcessId[];
  /** Descendants of the root that do not belong to the command, nor do their own descendants. */
  readonly others: readonly number[];
  /** The session of redlock-run's caller. */
  readonly callerSession: number | undefined;
  /** All processes of the machine; tests pass another table. */
  readonly table?: () => readonly ProcessEntry[];
}

export class SeenTree implements ProcessTree {
  readonly #parts: SeenTreeParts;
  /** Every member that was ever seen: pid and start. */
  readonly #known = new Map<number, number>();
  /**
   * The members' sessions but the caller's, and when last seen: all in them belongs to the tree.
   */
  readonly #sessions = new Map<number, number>();
  #groups = new Set<number>();

  constructor(parts: SeenTreeParts) {
    this.#parts = parts;
    for (const { pid, startedAt = 0 } of parts.members ?? []) this.#known.set(pid, startedAt);
  }

  /** Remembers the present members, to find them when their parents have ended. */
  look(): void {
    this.#seen();
  }

  relay(signal: Signal): void {
    const { command } = this.#parts;
    if (command) send(command.isForeground ? command.pid : -command.pid, signal);
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

  members(): readonly ProcessId[] {
    return (this.#seen() ?? []).map((pid) => ({ pid, startedAt: this.#known.get(pid) ?? 0 }));
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
      // A group dies in one step, so no member can fork meanwhile.
      for (const group of this.#groups) send(-group, 'SIGKILL');
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

  /** null: the processes cannot be listed now, as when descriptors have run out. */
  #seen(): number[] | null {
    try {
      return this.#members();
    } catch {
      return null;
    }
  }

  #members(): number[] {
    const { root, command, others, callerSession, table = allProcesses } = this.#parts;
    const entries = table().filter(({ pid }) => pid !== process.pid && !others.includes(pid));
    const rootEntry = entries.find(({ pid }) => pid === root.pid);
    const isRootThere = rootEntry?.startedAt === (root.startedAt ?? rootEntry?.startedAt);
    const found = new Map<number, ProcessEntry>();
    for (const entry of entries) {
      const isOfCommand = command !== null && !command.isForeground && entry.group === root.pid;
      const isRoot = command ? entry.pid === root.pid : isRootThere && entry.parent === root.pid;
      const isFamily = isRoot || isOfCommand || this.#sessions.has(entry.session);
      if (isFamily || this.#known.get(entry.pid) === entry.startedAt) found.set(entry.pid, entry);
    }
    for (let count = -1; count !== found.size; ) {
      count = found.size;
      for (const entry of entries) if (found.has(entry.parent)) found.set(entry.pid, entry);
    }
    const members = [...found.values()];
    for (const { pid, startedAt } of members) this.#known.set(pid, startedAt);
    // Where ps(1) shows no sessions, all are 0.
    const apart = members.filter(({ session }) => session !== 0 && session !== callerSession);
    const now = performance.now();
    for (const { session } of apart) this.#sessions.set(session, now);
    for (const [session, at] of this.#sessions) {
      if (now - at > forgottenMs) this.#sessions.delete(session);
    }
    this.#groups = new Set(apart.map(({ group }) => group));
    return members.filter(({ isAlive }) => isAlive).map(({ pid }) => pid);
  }
}
