// Everything that the command of one run has started, however it tried to get away: by process group, by session, by walking
// from parent to child, and by a marker in the environment. It finds and kills nothing. The surprise: each of these alone
// misses somebody (who left the group, who was orphaned, who wiped his environment), and what was once found stays known.

import type { ProcessEntry, ProcessTable } from './process-table.ts';

/** The variable with the ids of all runs that a process is part of, outermost first. */
export const markerName = 'REDLOCK_RUN_IDS';

export interface Root {
  readonly pid: number;
  /** It leads a process group and a session of its own. */
  readonly isLeader: boolean;
}

export class Tree {
  readonly #table: ProcessTable;
  readonly #runId: string;
  /** Who started before this process cannot be part of the run; neither are we, or whoever else is spared. */
  readonly #since: number;
  readonly #spared: ReadonlySet<number>;
  readonly #known = new Map<number, number>();
  #root: Root | null = null;
  #rootStartedAt: number | null = null;

  /** `since` and `spared` are pids: of the process that began the run, and of those that never belong to it. */
  constructor(table: ProcessTable, runId: string, since: number, spared: readonly number[]) {
    this.#table = table;
    this.#runId = runId;
    this.#spared = new Set([...spared, process.pid]);
    this.#since = table.read().find(({ pid }) => pid === since)?.startedAt ?? 0;
  }

  /** The command itself, as soon as it has been started. */
  setRoot(root: Root): void {
    this.#root = root;
    this.#rootStartedAt = this.#table.read().find(({ pid }) => pid === root.pid)?.startedAt ?? null;
  }

  /** The pids of all that are alive now. */
  scan(): number[] {
    const entries = this.#table
      .read()
      .filter(({ pid, startedAt }) => startedAt >= this.#since && !this.#spared.has(pid));
    const members = new Map<number, ProcessEntry>();
    for (const entry of entries) if (this.#isMember(entry)) members.set(entry.pid, entry);
    for (let count = -1; count !== members.size; ) {
      count = members.size;
      for (const entry of entries) if (members.has(entry.parent)) members.set(entry.pid, entry);
    }
    for (const { pid, startedAt } of members.values()) this.#known.set(pid, startedAt);
    return [...members.keys()];
  }

  #isMember({ pid, group, session, startedAt }: ProcessEntry): boolean {
    if (this.#known.get(pid) === startedAt) return true;
    const root = this.#root;
    if (root?.pid === pid && this.#rootStartedAt === startedAt) return true;
    if (root?.isLeader && (group === root.pid || session === root.pid)) return true;
    return this.#table.hasInEnvironment(pid, this.#runId);
  }
}
