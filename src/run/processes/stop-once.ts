// The stop signal for the processes of a command: each gets it once a run, however many causes
// there are, and none of them is missed. What a process starts after it was told to stop is its
// cleanup, and gets none.

import type { Signal } from '../run-result.ts';
import type { ProcessEntry } from './process-table.ts';
import { type RunningCommand, sendToAll } from './process-tree.ts';
import {
  type Found,
  holdsNamespace,
  isWithin,
  longestLooksMs,
  mostLooks,
  type TakeLook,
} from './tree-look.ts';

/**
 * due: it existed before the stop signal was sent. spared: its parent had been sent the signal and
 * lived on, so it cleans up.
 */
type StopState = 'due' | 'stopped' | 'spared';

/** The looks of a stop take no more than this part of the time until SIGKILL: a quarter. */
const shareOfTime = 4;

export class StopOnce {
  readonly #command: RunningCommand;
  readonly #look: TakeLook;
  readonly #walk: () => Iterable<Found>;
  readonly #stops = new Map<string, StopState>();
  #isGroupStopped = false;

  /** `walk`: finds the processes of the tree one after the other. */
  constructor(command: RunningCommand, look: TakeLook, walk: () => Iterable<Found>) {
    this.#command = command;
    this.#look = look;
    this.#walk = walk;
  }

  /**
   * A command in a session of its own: one signal for its group, whose members cannot be missed.
   * All others singly, the command first, in looks until one finds nothing new: a process that dies
   * during a look leaves its children in none of the lists of that look. SIGKILL is due after
   * `withinMs`: where processes fork, each look takes longer than the one before. `isCommandThere`:
   * its number is still that of the command, and of its group.
   */
  stop(signal: Signal, isCommandThere: boolean, withinMs: number): void {
    const endAt = performance.now() + withinMs / shareOfTime;
    const { pid, isForeground, hasNamespace } = this.#command;
    try {
      const hasGroup = !isForeground && !hasNamespace && isCommandThere;
      if (hasGroup && !this.#isGroupStopped) {
        this.#noteBeforeStop();
        this.#isGroupStopped = true;
        sendToAll([-pid], signal);
      }
      this.#stopAll(signal, endAt);
    } catch {
      // The processes cannot be listed now. Killing follows, and does not give up.
      const isTold = this.#isGroupStopped || (isForeground && this.#stops.size > 0);
      if (isTold || hasNamespace || !isCommandThere) return;
      this.#isGroupStopped = !isForeground;
      sendToAll([isForeground ? pid : -pid], signal);
    }
  }

  #stopAll(signal: Signal, endAt: number): void {
    const calmAt = performance.now() + longestLooksMs;
    const isEnough = () => performance.now() >= endAt;
    let before: ReadonlySet<string> = new Set();
    for (let lookCount = 0; lookCount < mostLooks || performance.now() < calmAt; lookCount += 1) {
      const now = new Set<string>();
      const { keys } = this.#look((found) => this.#stopOne(found, signal, now), isEnough);
      if (isWithin(keys, before) || isEnough()) return;
      before = keys;
    }
  }

  /** Notes what exists before the group is signalled, unless that takes too long. */
  #noteBeforeStop(): void {
    const endAt = performance.now() + longestLooksMs;
    for (const { key, entry } of this.#walk()) {
      this.#stops.set(key, entry !== null && this.#isInGroup(entry) ? 'stopped' : 'due');
      if (performance.now() > endAt) return this.#stops.clear();
    }
  }

  /** `now`: the processes that this look has stopped. What it lists below them existed before. */
  #stopOne({ pid, key, entry, parent }: Found, signal: Signal, now: Set<string>): void {
    const { hasNamespace } = this.#command;
    const state = this.#stops.get(key);
    if (state === 'stopped' || state === 'spared' || (hasNamespace && holdsNamespace(pid))) return;
    const isNew = state === undefined && parent !== null && !now.has(parent);
    const parentState = isNew ? this.#stops.get(parent) : undefined;
    const isCleanup = parentState === 'stopped' || parentState === 'spared';
    this.#stops.set(key, isCleanup ? 'spared' : 'stopped');
    if (isCleanup) return;
    now.add(key);
    const hasSignal = this.#isGroupStopped && entry !== null && this.#isInGroup(entry);
    if (!hasSignal) sendToAll([pid], signal);
  }

  #isInGroup({ group }: ProcessEntry): boolean {
    const { pid, isForeground } = this.#command;
    return !isForeground && group === pid;
  }
}
