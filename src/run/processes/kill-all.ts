// SIGKILL for every process of a tree, until none is left, without a pause in which one of them
// could fork: the lock is free a moment later.

import { setTimeout as sleep } from 'node:timers/promises';
import { type ProcessEntry, processEntry } from './process-table.ts';
import { send, undyingMs } from './process-tree.ts';
import type { Found, TakeLook } from './tree-look.ts';

/** How long it takes to find and end one more process, on two cores at a load of 20. */
const eachMs = 1;

/** So much earlier SIGKILL has to come for a tree of so many processes: the margin grows by it. */
export function killingMsOf(processCount: number): number {
  return processCount * eachMs;
}

/** Between two looks while processes are dying: at first, and after a hundred looks. */
const hastyMs = 1;
const unhurriedMs = 30;
const hastyLookCount = 100;
/** How many looks must agree: a list of children may omit an entry that changes at that moment. */
const emptyLookCount = 3;

/**
 * Kills all descendants at once, youngest first, and again without a pause while there are any
 * that the look before has not seen: nothing that forks can outrun that. Resolves with the
 * unkillable ones, when no others are left.
 */
export async function killAll(
  look: TakeLook,
  hasChildren: () => boolean,
): Promise<readonly number[]> {
  const killing = new Killing();
  let before: ReadonlySet<string> = new Set();
  let left: readonly Found[] = [];
  for (let lookCount = 0, emptyCount = 0; emptyCount < emptyLookCount; ) {
    let hasNew = false;
    try {
      const groups = new Set<number>();
      const { keys, living } = look((found) => killing.one(found, groups));
      if (!hasChildren()) return [];
      hasNew = [...keys].some((key) => !before.has(key) && !killing.isUnkillable(key));
      before = keys;
      left = living;
      const isEmpty = left.every(({ key }) => killing.isUnkillable(key));
      emptyCount = isEmpty && !hasNew ? emptyCount + 1 : 0;
    } catch {
      emptyCount = 0; // The processes cannot be listed now.
    }
    if (!hasNew) lookCount += 1;
    await (hasNew ? turn() : sleep(lookCount < hastyLookCount ? hastyMs : unhurriedMs));
  }
  return left.map(({ pid }) => pid);
}

class Killing {
  /** The command is in it with a terminal; without one it has a session of its own. */
  #ownSession: number | undefined;
  /** The processes that were sent SIGKILL, and when first, by performance.now(). */
  readonly #killedAt = new Map<string, number>();
  readonly #unkillable = new Set<string>();

  /**
   * Kills the process, and its group where the session was created in the tree: a group dies in one
   * step, so no member can fork meanwhile. That works also with a process that has ended: until it
   * is reaped, its group keeps its number. `groups`: those that this look has killed.
   */
  one({ pid, key, entry }: Found, groups: Set<number>): void {
    if (entry && this.#isFoundedInside(entry) && !groups.has(entry.group)) {
      groups.add(entry.group);
      send(-entry.group, 'SIGKILL');
    }
    if (!this.#killedAt.has(key)) this.#killedAt.set(key, performance.now());
    if (!send(pid, 'SIGKILL')) this.#unkillable.add(key);
  }

  /** SIGKILL is not permitted, or has not ended it for a long time. */
  isUnkillable(key: string): boolean {
    const at = this.#killedAt.get(key) ?? Number.POSITIVE_INFINITY;
    if (performance.now() - at > undyingMs) this.#unkillable.add(key);
    return this.#unkillable.has(key);
  }

  #isFoundedInside({ session }: ProcessEntry): boolean {
    this.#ownSession ??= processEntry(process.pid)?.session;
    return session !== this.#ownSession;
  }
}

/** Lets the event loop turn once. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
