// One look at the tree of a command: every process below this one, with what the kernel shows of
// it. Such a look takes time, and the tree changes meanwhile, so what counts is what several of
// them have in common.

import { childrenOf, namespacedPids, type ProcessEntry } from './process-table.ts';

/**
 * A count and a stop go on looking while processes come and go: so many looks, and so long. The
 * lock cannot be extended meanwhile.
 */
export const mostLooks = 5;
export const longestLooksMs = 100;

/** A process of the tree as one look sees it. */
export interface Found {
  readonly pid: number;
  /** Pid and start: tells it from a later process with the same pid. */
  readonly key: string;
  /** null: /proc hides it, which is possible for our own children only. */
  readonly entry: ProcessEntry | null;
  /** The key of its parent where that belongs to the tree. */
  readonly parent: string | null;
}

export interface Look {
  /** All that were seen, those that had ended included. */
  readonly keys: ReadonlySet<string>;
  readonly living: readonly Found[];
}

/**
 * Looks once at all processes of the tree, and calls `visit` for each of them. The look ends early
 * where `isEnough` says so after a visit.
 */
export type TakeLook = (
  visit?: (found: Found) => void,
  isEnough?: (living: readonly Found[]) => boolean,
) => Look;

/** A child of this process, or of a guard below it. */
export interface Top {
  readonly pid: number;
  readonly parent: number;
}

/**
 * The processes of the tree below `tops`: `first` and what is below it, then the others, the
 * youngest first: the next of a chain of forks is reached before it has started another. `entryOf`:
 * reads a process; null: /proc does not show it.
 * *Invariant:* the children of a process are listed before it is yielded, so what is done to it
 * hides none of them.
 */
export function* walk(
  tops: readonly Top[],
  first: number,
  entryOf: (pid: number) => ProcessEntry | null,
): Generator<Found> {
  const roots = new Set([process.pid, ...tops.map(({ parent }) => parent)]);
  const others = tops.filter(({ pid }) => pid !== first);
  const sorted = [...others, ...tops.filter(({ pid }) => pid === first)];
  const next = sorted.map((top) => ({ ...top, key: null as string | null }));
  for (let item = next.pop(); item; item = next.pop()) {
    const { pid, parent, key: parentKey } = item;
    const entry = entryOf(pid);
    const isChild = parent === process.pid;
    // Neither there nor an orphan of ours: it has ended, and its pid may be another's by now.
    const isInTree = entry?.parent === parent || roots.has(entry?.parent ?? 0);
    if (!isInTree && !(isChild && entry === null)) continue;
    const key = `${pid}:${entry?.startedAt}`;
    const children = entry?.isAlive === false ? [] : childrenOf(pid);
    yield { pid, key, entry, parent: parentKey };
    for (const child of children) next.push({ pid: child, parent: pid, key });
  }
}

/**
 * About how many processes there are at and below `tops`, by the lists of children alone. A chain
 * of forks would never come to an end.
 */
export function sizeOf(tops: readonly Top[]): number {
  const endAt = performance.now() + longestLooksMs;
  const found = new Set(tops.map(({ pid }) => pid));
  for (const pid of found) {
    for (const child of childrenOf(pid)) found.add(child);
    if (performance.now() > endAt) break;
  }
  return found.size;
}

export function isWithin(keys: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return [...keys].every((key) => others.has(key));
}

/** The pids inside a namespace, in the order of forks: see isolation.ts. */
const readerInside = 2;
export const commandInside = 3;

/** Whether the process only holds the namespace open: unshare(1), the first process, its reader. */
export function holdsNamespace(pid: number): boolean {
  const [, inside] = namespacedPids(pid);
  return inside === undefined || inside <= readerInside;
}
