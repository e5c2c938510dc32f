// The processes of a command as the kernel keeps them for a child subreaper (Linux): every orphan
// among them becomes our child, whatever its session, group or name. So no process can leave the
// tree, and ECHILD says that none is left. The cost does not depend on the number of other
// processes on the machine. In redlock-run it is also the tree that a guard has left or does not
// end: what is below the guard, as long as that exists, and what redlock-run has inherited from it.
// *Note:* only our own children keep their numbers until we reap them. The start and the parent of
// any other process are compared directly before a signal.

import { ConfigError } from '../../text/errors.ts';
import { RunError } from '../preconditions.ts';
import type { Signal } from '../run-result.ts';
import { killAll } from './kill-all.ts';
import { type Libc, loadLibc, type WaitStatus } from './libc.ts';
import { childrenOf, namespacedPids, processEntry, whyNoTable } from './process-table.ts';
import { type ProcessId, type ProcessTree, type RunningCommand, send } from './process-tree.ts';
import { StopOnce } from './stop-once.ts';
import {
  commandInside,
  type Found,
  holdsNamespace,
  isWithin,
  type Look,
  longestLooksMs,
  mostLooks,
  sizeOf,
  type TakeLook,
  type Top,
  walk,
} from './tree-look.ts';
import { Unreaped } from './unreaped.ts';

/** How many looks must agree: a list of children may omit an entry that changes at that moment. */
const emptyLookCount = 3;

/** For so long a look goes on that has seen a new process, and so is followed by another. */
const glanceMs = 10;

/** During a look that kills: after each so many processes our own children are killed. */
const crowdCount = 100;

export interface KeptTreeParts {
  readonly libc: Libc;
  readonly command: RunningCommand;
  /** Whether a child of this process is not of the command, and is reaped elsewhere. */
  readonly isOther: (pid: number) => boolean;
  /** Whether Node has started the command and will reap it. */
  readonly isReapedByNode: boolean;
  /** A guard below this process, which has started the command; null: there is none. */
  readonly guard: ProcessId | null;
}

export class KeptTree implements ProcessTree {
  readonly #parts: KeptTreeParts;
  #commandStatus: WaitStatus | null = null;
  #isCommandReaped = false;
  readonly #stopOnce: StopOnce;
  readonly #unreaped = new Unreaped();
  /** By seemsEnded() so far. */
  readonly #seen = new Set<string>();

  constructor(parts: KeptTreeParts) {
    this.#parts = parts;
    const look: TakeLook = (visit, isEnough) => this.#look(visit, isEnough);
    this.#stopOnce = new StopOnce(parts.command, look, () => this.#walk());
  }

  /** The exit status of the command, where Node does not reap it; null: unknown so far. */
  get commandStatus(): WaitStatus | null {
    return this.#commandStatus;
  }

  /** Notes that Node has reaped the command: from now on another process may have its pid. */
  commandReaped(): void {
    this.#isCommandReaped = true;
  }

  look(): void {
    try {
      this.#reapEnded();
    } catch {
      // Descriptors may have run out, for example. The next look follows soon.
    }
  }

  relay(signal: Signal): void {
    const { pid, isForeground, hasNamespace } = this.#parts.command;
    if (!this.#isCommandThere()) return;
    // unshare(1) does not pass signals on, and some of them would end it.
    if (hasNamespace) for (const target of this.#inNamespace()) send(target, signal);
    else send(isForeground ? pid : -pid, signal);
  }

  countAlive(): number {
    return this.#count(Number.POSITIVE_INFINITY);
  }

  isEmpty(): boolean {
    return this.#count(1) === 0;
  }

  /** How many are alive, at most `most`. */
  #count(most: number): number {
    const isEnough = (living: readonly Found[]) => living.length >= most;
    const endAt = performance.now() + longestLooksMs;
    let before: ReadonlySet<string> = new Set();
    try {
      for (let lookCount = 0, emptyCount = 0; emptyCount < emptyLookCount; lookCount += 1) {
        if (!this.#parts.libc.hasChildren()) return 0;
        const { keys, living } = this.#look(() => {}, isEnough);
        if (living.length > 0) return living.length;
        // One that has ended since the look before may have started another.
        emptyCount = isWithin(keys, before) ? emptyCount + 1 : 0;
        before = keys;
        if (lookCount > mostLooks && performance.now() > endAt) return 1;
      }
      return 0;
    } catch {
      return 1; // Unknown: it must not count as none.
    }
  }

  /** It is called again and again, so it reads no more than it takes to say no. */
  seemsEnded(): boolean {
    const endAt = performance.now() + glanceMs;
    let newCount = 0;
    const visit = ({ key }: Found) => {
      if (this.#seen.has(key)) return;
      this.#seen.add(key);
      newCount += 1;
    };
    const isEnough = (living: readonly Found[]) =>
      living.length > 0 || (newCount > 0 && performance.now() > endAt);
    try {
      return this.#look(visit, isEnough).living.length === 0 && newCount === 0;
    } catch {
      return false; // Unknown.
    }
  }

  size(): number {
    try {
      // A guard that stands still reaps nothing: what has ended below it needs no killing.
      const hasEnded = ({ pid, parent }: Top) =>
        parent !== process.pid && this.#unreaped.entryOf(pid)?.isAlive === false;
      return sizeOf(this.#tops().filter((top) => !hasEnded(top)));
    } catch {
      return 0; // Unknown.
    }
  }

  members(): readonly ProcessId[] {
    try {
      return this.#look().living.flatMap(({ entry }) => {
        return entry ? [{ pid: entry.pid, startedAt: entry.startedAt }] : [];
      });
    } catch {
      return [];
    }
  }

  /** Tells each process once a run, whatever the causes are. */
  stop(signal: Signal, withinMs: number): void {
    this.#stopOnce.stop(signal, this.#isCommandThere(), withinMs);
  }

  kill(): Promise<readonly number[]> {
    const look: TakeLook = (visit = () => {}) => {
      const killed = new Set<number>();
      let count = 0;
      return this.#look((found) => {
        visit(found);
        count += 1;
        if (count % crowdCount === 0) this.#killChildren(killed);
      });
    };
    return killAll(look, () => this.#parts.libc.hasChildren());
  }

  /**
   * A child keeps its number until it is reaped, so it needs no look, and what it leaves becomes
   * our child: so a crowd is killed in a moment, where looking at each would take seconds.
   */
  #killChildren(killed: Set<number>): void {
    for (const pid of this.#children().reverse()) {
      if (!killed.has(pid)) send(pid, 'SIGKILL');
      killed.add(pid);
    }
  }

  /**
   * Looks once at all processes of the tree, and reaps those that have ended.
   */
  #look(
    visit: (found: Found) => void = () => {},
    isEnough: (living: readonly Found[]) => boolean = () => false,
  ): Look {
    const keys = new Set<string>();
    const living: Found[] = [];
    const { hasNamespace } = this.#parts.command;
    for (const found of this.#walk()) {
      keys.add(found.key);
      visit(found);
      const isOfCommand = !hasNamespace || !holdsNamespace(found.pid);
      if (this.#isAlive(found) && isOfCommand) living.push(found);
      if (isEnough(living)) break;
    }
    return { keys, living };
  }

  #walk(): Iterable<Found> {
    const entryOf = (pid: number) => this.#unreaped.entryOf(pid);
    return walk(this.#tops(), this.#parts.command.pid, entryOf);
  }

  /**
   * Reaps it if it has ended. Of our own children all that have ended are reaped but the command
   * that is left to Node, so a child is alive even if /proc hides it.
   */
  #isAlive({ pid, entry }: Found): boolean {
    const isChild = entry === null || entry.parent === process.pid;
    if (entry?.isAlive || !isChild) return entry?.isAlive === true;
    return !this.#isLeftToNode(pid) && !this.#reap(pid);
  }

  #isLeftToNode(pid: number): boolean {
    const { command, isReapedByNode } = this.#parts;
    return isReapedByNode && !this.#isCommandReaped && pid === command.pid;
  }

  #reapEnded(): void {
    for (const pid of this.#children()) if (!this.#isLeftToNode(pid)) this.#reap(pid);
  }

  /** Whether this child has ended. From now on another child may have its pid. */
  #reap(pid: number): boolean {
    const status = this.#parts.libc.reap(pid);
    if (status !== null && pid === this.#parts.command.pid && !this.#isCommandReaped) {
      this.#commandStatus = status;
      this.#isCommandReaped = true;
    }
    return status !== null;
  }

  /** The processes that get a signal for a command in a PID namespace. */
  #inNamespace(): number[] {
    const { pid: command, isForeground } = this.#parts.command;
    const { living } = this.#look();
    const targets = living.filter(({ pid, entry }) => {
      return isForeground ? namespacedPids(pid)[1] === commandInside : entry?.group === command;
    });
    return targets.map(({ pid }) => pid);
  }

  /**
   * Whether its number is still that of the command, and of its group, so that a signal can hit no
   * other process. Another process than Node or this tree may have reaped it: its guard.
   */
  #isCommandThere(): boolean {
    const { command, isReapedByNode } = this.#parts;
    if (this.#isCommandReaped || isReapedByNode) return !this.#isCommandReaped;
    try {
      return this.#tops().some(({ pid }) => pid === command.pid);
    } catch {
      return false; // The processes cannot be listed now.
    }
  }

  /**
   * The uppermost processes of the tree. Those below the guard come first: what it leaves becomes
   * ours, and would be missed in the other order.
   */
  #tops(): readonly Top[] {
    const { guard } = this.#parts;
    const isThere = guard !== null && processEntry(guard.pid)?.startedAt === guard.startedAt;
    this.#unreaped.look(isThere ? guard.pid : null);
    const below = isThere ? topsBelow(guard.pid) : [];
    return [...below, ...this.#children().map((pid) => ({ pid, parent: process.pid }))];
  }

  /** Includes those that have ended and are not reaped yet. */
  #children(): number[] {
    return childrenOf(process.pid).filter((pid) => !this.#parts.isOther(pid));
  }
}

function topsBelow(parent: number): readonly Top[] {
  return childrenOf(parent).map((pid) => ({ pid, parent }));
}

/**
 * @throws RunError where this machine cannot keep the processes of a command in a tree, ConfigError
 * where this installation cannot
 */
export function libcForTree(): Libc {
  const found = findLibc();
  if ('libc' in found) return found.libc;
  const message = `guard: ${found.obstacle}`;
  throw found.isIncomplete ? new ConfigError(message) : new RunError(message);
}

/** npm leaves out an optional package in silence, and fails for one that is asked for by name. */
const howToInstall =
  'npm install koffi@3 adds it or says why it cannot, with --global if redlock-run was installed ' +
  'so; or use the executable';

/** `isIncomplete`: it is the installation that lacks something, and not this machine. */
export function findLibc(): { libc: Libc } | { obstacle: string; isIncomplete: boolean } {
  const cannot = 'processes cannot be guarded here';
  const why = whyNoTable();
  if (why) return { obstacle: `${cannot}: ${why}`, isIncomplete: false };
  try {
    return { libc: loadLibc() };
  } catch (error) {
    const why = `the C library cannot be called: ${(error as Error).message.split('\n')[0]}`;
    return { obstacle: `${cannot}: ${why} (${howToInstall})`, isIncomplete: true };
  }
}
