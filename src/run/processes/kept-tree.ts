// The processes of a command as the kernel keeps them for a child subreaper (Linux): every orphan
// among them becomes our child, whatever its session, group or name. So no process can leave the
// tree, and ECHILD says that none is left. The cost does not depend on the number of other
// processes on the machine.

import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '../../text/errors.ts';
import { RunError } from '../preconditions.ts';
import type { Signal } from '../supervisor.ts';
import { type Libc, loadLibc, type WaitStatus } from './libc.ts';
import {
  childrenOf,
  namespacedPids,
  objectionToTable,
  type ProcessEntry,
  processEntry,
} from './process-table.ts';
import {
  type ProcessId,
  type ProcessTree,
  type RunningCommand,
  send,
  sendToAll,
  undyingMs,
} from './process-tree.ts';

/**
 * The interval between two looks while processes are dying: at first, and after a hundred looks.
 */
const hastyMs = 1;
const calmMs = 30;
const hastyLookCount = 100;
/** How many looks must agree: a list of children may omit an entry that changes at that moment. */
const emptyLookCount = 3;

export interface KeptTreeParts {
  readonly libc: Libc;
  readonly command: RunningCommand;
  /** Whether a child of this process is not of the command, and is reaped elsewhere. */
  readonly isOther: (pid: number) => boolean;
  /** Whether Node has started the command and will reap it. */
  readonly isReapedByNode: boolean;
}

export class KeptTree implements ProcessTree {
  readonly #parts: KeptTreeParts;
  /** The command is in it with a terminal; without one it has a session of its own. */
  readonly #ownSession = processEntry(process.pid)?.session;
  #commandStatus: WaitStatus | null = null;
  #isCommandReaped = false;
  /** The children that were sent SIGKILL, and when first, by performance.now(). */
  readonly #killedAt = new Map<number, number>();
  readonly #unkillable = new Set<number>();

  constructor(parts: KeptTreeParts) {
    this.#parts = parts;
  }

  /** The exit status of the command, where Node does not reap it; null: unknown so far. */
  get commandStatus(): WaitStatus | null {
    return this.#commandStatus;
  }

  /** Whether the command is our child, running or not reaped yet. */
  get hasCommand(): boolean {
    return this.#children().includes(this.#parts.command.pid);
  }

  /** Whether no process of the tree is our child, not even one that has ended. */
  get isEmpty(): boolean {
    return this.#children().length === 0;
  }

  /** Notes that Node has reaped the command: from now on another process may have its pid. */
  commandReaped(): void {
    this.#isCommandReaped = true;
  }

  look(): void {
    try {
      this.#reapEnded();
    } catch {
      // For want of descriptors, for example. The next look follows soon.
    }
  }

  relay(signal: Signal): void {
    const { pid, isForeground, hasNamespace } = this.#parts.command;
    if (this.#isCommandReaped) return;
    // unshare(1) does not pass signals on, and some of them would end it.
    if (hasNamespace) for (const target of this.#inNamespace()) send(target, signal);
    else send(isForeground ? pid : -pid, signal);
  }

  countAlive(): number {
    try {
      for (let lookCount = 0; lookCount < emptyLookCount; lookCount += 1) {
        if (!this.#parts.libc.hasChildren()) return 0;
        this.#reapEnded();
        const count = this.#living().length;
        if (count > 0) return count;
      }
      return 0;
    } catch {
      return 1; // Unknown: it must not count as none.
    }
  }

  members(): readonly ProcessId[] {
    try {
      this.#reapEnded();
      const entries = this.#living().flatMap((pid) => processEntry(pid) ?? []);
      return entries.map(({ pid, startedAt }) => ({ pid, startedAt }));
    } catch {
      return [];
    }
  }

  /**
   * Signals the command first: its pid is known, so the search for the others does not delay it.
   */
  stop(signal: Signal): void {
    const { pid, hasNamespace } = this.#parts.command;
    const isKnown = !hasNamespace && !this.#isCommandReaped;
    if (isKnown) sendToAll([pid], signal);
    try {
      this.#reapEnded();
      const others = this.#living().filter((member) => !isKnown || member !== pid);
      sendToAll(others, signal);
    } catch {
      // The processes cannot be listed now. Killing follows, and does not give up.
    }
  }

  /**
   * Kills our children, then those that become our children by that, and so on. Only this process
   * can reap them, so no other process can have their pids.
   */
  async kill(): Promise<readonly number[]> {
    this.#killedAt.clear();
    for (let lookCount = 0, emptyCount = 0; emptyCount < emptyLookCount; lookCount += 1) {
      try {
        // Again at once as long as new ones appear: a chain of forks must not outrun this loop.
        while (this.#killChildren());
        if (!this.#parts.libc.hasChildren()) return [];
        emptyCount = this.#killable().length === 0 ? emptyCount + 1 : 0;
      } catch {
        emptyCount = 0; // The processes cannot be listed now.
      }
      await sleep(lookCount < hastyLookCount ? hastyMs : calmMs);
    }
    return [...this.#unkillable];
  }

  /** Sends SIGKILL to every child. True: some of them had not been sent it before. */
  #killChildren(): boolean {
    const targets = this.#targets();
    const isNew = targets.some((pid) => !this.#killedAt.has(pid));
    for (const pid of targets) {
      if (!this.#killedAt.has(pid)) this.#killedAt.set(pid, performance.now());
      this.#killOne(pid);
    }
    this.#reapEnded();
    return isNew;
  }

  /** Our children, and the descendants of unkillable ones, which never become children. */
  #targets(): number[] {
    const children = this.#children();
    const unkillable = children.filter((pid) => this.#unkillable.has(pid));
    return [...children, ...below(unkillable)];
  }

  /**
   * Kills the process, and its group where the session was created in the tree: a group dies in one
   * step, so no member can fork meanwhile. That works also with a process that has ended: until it
   * is reaped, its group keeps its number.
   */
  #killOne(pid: number): void {
    const entry = processEntry(pid);
    if (!send(pid, 'SIGKILL')) this.#unkillable.add(pid);
    if (entry && this.#isFoundedInside(entry)) send(-entry.group, 'SIGKILL');
  }

  #isFoundedInside({ session }: ProcessEntry): boolean {
    return session !== this.#ownSession;
  }

  /** The living processes that SIGKILL is about to end. */
  #killable(): number[] {
    for (const [pid, at] of this.#killedAt) {
      if (performance.now() - at > undyingMs) this.#unkillable.add(pid);
    }
    const children = this.#livingChildren();
    const unkillable = children.filter((pid) => this.#unkillable.has(pid));
    const left = [...children, ...below(unkillable).filter(isSeenAlive)];
    return left.filter((pid) => !this.#unkillable.has(pid));
  }

  /**
   * Our children, without a command that has ended and that Node has not reaped yet. All others
   * that have ended are reaped by now, so a child is alive even if /proc hides it.
   */
  #livingChildren(): number[] {
    return this.#children().filter((pid) => !this.#isLeftToNode(pid) || isSeenAlive(pid));
  }

  #isLeftToNode(pid: number): boolean {
    const { command, isReapedByNode } = this.#parts;
    return isReapedByNode && !this.#isCommandReaped && pid === command.pid;
  }

  #reapEnded(): void {
    for (const pid of this.#children()) {
      const status = this.#isLeftToNode(pid) ? null : this.#parts.libc.reap(pid);
      if (status === null) continue;
      if (pid === this.#parts.command.pid && !this.#isCommandReaped) {
        this.#commandStatus = status;
        this.#isCommandReaped = true;
      }
      // From now on another child may have its pid.
      this.#killedAt.delete(pid);
      this.#unkillable.delete(pid);
    }
  }

  /** The processes that get a signal for a command in a PID namespace. */
  #inNamespace(): number[] {
    const { pid, isForeground } = this.#parts.command;
    const living = this.#living();
    if (!isForeground) return living.filter((member) => processEntry(member)?.group === pid);
    return living.filter((member) => namespacedPids(member)[1] === commandInside);
  }

  /** To be called after #reapEnded. */
  #living(): number[] {
    const { hasNamespace } = this.#parts.command;
    const children = this.#livingChildren();
    const all = [...children, ...below(children).filter(isSeenAlive)];
    return hasNamespace ? all.filter((pid) => !holdsNamespace(pid)) : all;
  }

  /** Includes those that have ended and are not reaped yet. */
  #children(): number[] {
    return childrenOf(process.pid).filter((pid) => !this.#parts.isOther(pid));
  }
}

/**
 * @throws RunError where this machine cannot keep the processes of a command in a tree, ConfigError
 * where this installation cannot
 */
export function libcForTree(): Libc {
  const cannot = 'guard: processes cannot be guarded here';
  const objection = objectionToTable();
  if (objection) throw new RunError(`${cannot}: ${objection}`);
  try {
    return loadLibc();
  } catch (error) {
    const why = `the C library cannot be called: ${(error as Error).message.split('\n')[0]}`;
    const advice = 'npm install koffi shows why it is missing; or use the executable';
    throw new ConfigError(`${cannot}: ${why} (${advice})`);
  }
}

/** The descendants of these processes. */
function below(pids: readonly number[]): number[] {
  const found = pids.flatMap(childrenOf);
  for (const pid of found) found.push(...childrenOf(pid));
  return found;
}

function isSeenAlive(pid: number): boolean {
  return processEntry(pid)?.isAlive === true;
}

/** The pids inside a namespace, in the order of forks: see isolation.ts. */
const readerInside = 2;
const commandInside = 3;

/** Whether the process only holds the namespace open: unshare(1), the first process, its reader. */
function holdsNamespace(pid: number): boolean {
  const [, inside] = namespacedPids(pid);
  return inside === undefined || inside <= readerInside;
}
