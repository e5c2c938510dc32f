// Everything that the command of one run has started, however it tried to get away: by process group, by session, by walking
// from parent to child, and by a marker in the environment. It finds and kills nothing. The surprise: each of these alone
// misses somebody (who left the group, who was orphaned, who wiped his environment), and what was once found stays known.

import type { Census, Numbers, ProcessEntry, ProcessTable } from './census.ts';

/** The variable with the ids of all runs that a process is part of, outermost first. */
export const markerName = 'REDLOCK_RUN_IDS';
/** The variable that tells a guard, so that an outer run leaves the guard of an inner one alone: it ends by itself. */
export const guardMarkerName = 'REDLOCK_GUARD';
const guardMark = `${guardMarkerName}=`;

export interface Root {
  readonly pid: number;
  /** null: it was gone before it could be looked at. */
  readonly startedAt: number | null;
  /** It leads a process group and a session of its own. */
  readonly isLeader: boolean;
  /** It and its one child only hold open the namespace that the command runs in (--isolate). */
  readonly isEnclosure: boolean;
}

/** Who is alive now. */
export interface Members {
  readonly pids: readonly number[];
  /** Groups that a member founded, so that everybody in them is one: to be killed in one step, while nobody can fork. */
  readonly groups: readonly number[];
  /** Who holds the namespace open; the command does not know of them. */
  readonly enclosure: readonly number[];
  /** False: new ones came faster than they could be looked at; who is not here may be there all the same. */
  readonly isSettled: boolean;
}

export class Tree {
  readonly #table: ProcessTable;
  readonly #runId: string;
  /** Who started before this instant cannot be part of the run. */
  readonly #since: number;
  readonly #known = new Map<number, number>();
  #root: Root | null = null;

  /** `since` is the pid of the process that began the run. */
  constructor(table: ProcessTable, runId: string, since: number) {
    this.#table = table;
    this.#runId = runId;
    this.#since = table.startedAt(since) ?? 0;
  }

  /** The command itself, as soon as it has been started. */
  setRoot(root: Root): void {
    this.#root = root;
  }

  /** Of all that are alive, or of those with these numbers. */
  scan(numbers?: Numbers): Members {
    const { isSettled, ...census } = this.#read(numbers);
    // The guard of an inner run ends by itself; our own, and we, are no part of the run.
    const entries = census.entries.filter((entry) => entry.pid !== process.pid && !this.#isGuard(entry));
    const found = new Map<number, ProcessEntry>();
    const isGroupOurs = this.#isGroupOurs(entries);
    for (const entry of entries) if (this.#isMember(entry, isGroupOurs)) found.set(entry.pid, entry);
    for (let count = -1; count !== found.size; ) {
      count = found.size;
      for (const entry of entries) {
        if (found.has(entry.parent)) found.set(entry.pid, entry);
      }
    }
    for (const { pid, startedAt } of found.values()) this.#known.set(pid, startedAt);
    const members = [...found.values()];
    const enclosure = members.filter((entry) => this.#isEnclosure(entry)).map(({ pid }) => pid);
    return {
      pids: members.map(({ pid }) => pid).filter((pid) => !enclosure.includes(pid)),
      groups: [...new Set(members.map(({ group }) => group))].filter(
        (group) => found.has(group) || (isGroupOurs && group === this.#root?.pid),
      ),
      enclosure,
      isSettled,
    };
  }

  /** Whom a signal for the command goes to where there is an enclosure: the command alone, or everyone in its group. */
  insideEnclosure(isCommandAlone: boolean): number[] {
    const { entries } = this.#read();
    const first = entries.find((entry) => this.#isEnclosure(entry) && entry.pid !== this.#root?.pid);
    if (first === undefined) return [];
    const inside = isCommandAlone
      ? entries.filter(({ parent }) => parent === first.pid).sort((a, b) => a.startedAt - b.startedAt || a.pid - b.pid)
      : entries.filter((entry) => entry.group === first.group && !this.#isEnclosure(entry));
    return inside.map(({ pid }) => pid).slice(0, isCommandAlone ? 1 : inside.length);
  }

  #read(numbers?: Numbers): Census {
    return this.#table.read(this.#since, [this.#runId, guardMark], numbers);
  }

  #isMember({ pid, group, session, startedAt, found }: ProcessEntry, isGroupOurs: boolean): boolean {
    if (this.#known.get(pid) === startedAt) return true;
    const root = this.#root;
    if (root?.pid === pid && root.startedAt === startedAt) return true;
    if (isGroupOurs && (group === root?.pid || session === root?.pid)) return true;
    return found.includes(this.#runId);
  }

  /** The number of the group and session of the root is ours as long as no later process has it. */
  #isGroupOurs(entries: readonly ProcessEntry[]): boolean {
    const root = this.#root;
    if (!root?.isLeader) return false;
    const present = entries.find(({ pid }) => pid === root.pid);
    return present === undefined || present.startedAt === root.startedAt;
  }

  #isEnclosure({ pid, parent }: ProcessEntry): boolean {
    return this.#root?.isEnclosure === true && (pid === this.#root.pid || parent === this.#root.pid);
  }

  #isGuard({ found }: ProcessEntry): boolean {
    return found.includes(guardMark) && !found.includes(this.#runId);
  }
}
