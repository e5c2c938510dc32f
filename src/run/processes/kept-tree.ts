// The processes of a command as the kernel keeps them for this process, which is a child subreaper
// (Linux): every orphan among them becomes our child, in whatever session, group or name, so
// nothing can leave the tree, and ECHILD says that none is left. Nothing here grows with the number
// of other processes on the machine.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Signal } from '../supervisor.ts';
import { RunTrouble } from '../trouble.ts';
import { type Libc, loadLibc, type WaitStatus } from './libc.ts';
import {
  childrenOf,
  namespacedPids,
  objectionToTable,
  type ProcessEntry,
  processEntry,
} from './process-table.ts';
import {
  type ProcessTree,
  type RunningCommand,
  send,
  sendToAll,
  undyingMs,
} from './process-tree.ts';

/** While processes are dying: between two looks, at first and after a hundred of them. */
const hastyMs = 1;
const calmMs = 30;
const hastyLookCount = 100;
/** A list of children may skip an entry that changes in that moment: looks that must agree. */
const emptyLookCount = 3;

export interface KeptTreeParts {
  readonly libc: Libc;
  readonly command: RunningCommand;
  /** Children of this process that are not of the command, and that something else reaps. */
  readonly isOther: (pid: number) => boolean;
  /** Of redlock-run's caller. The command's processes are in it only with a terminal. */
  readonly callerSession: number | undefined;
  /** Node has started the command and will reap it. */
  readonly isReapedByNode: boolean;
}

export class KeptTree implements ProcessTree {
  readonly #parts: KeptTreeParts;
  readonly #ownSession = processEntry(process.pid)?.session;
  #commandStatus: WaitStatus | null = null;
  #isCommandReaped = false;
  /** Children that were sent SIGKILL, and when first, on performance.now(). */
  readonly #killedAt = new Map<number, number>();
  readonly #unkillable = new Set<number>();

  constructor(parts: KeptTreeParts) {
    this.#parts = parts;
  }

  /** How the command has ended, where Node does not reap it; null: it has not, as far as is known. */
  get commandStatus(): WaitStatus | null {
    return this.#commandStatus;
  }

  /** The command is our child, running or not reaped yet. */
  get hasCommand(): boolean {
    return this.#children().includes(this.#parts.command.pid);
  }

  /** Nothing of it is our child, not even one that has ended. */
  get isEmpty(): boolean {
    return this.#children().length === 0;
  }

  /** Node has reaped the command: its number may be that of another process from now on. */
  commandReaped(): void {
    this.#isCommandReaped = true;
  }

  look(): void {
    try {
      this.#reapEnded();
    } catch {
      // Out of descriptors, say. The next look comes.
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
        this.#reapEnded();
        if (!this.#parts.libc.hasChildren()) return 0;
        const count = this.#living().length;
        if (count > 0) return count;
      }
      return 0;
    } catch {
      return 1; // It cannot be seen now that there is none.
    }
  }

  /** The command first, since its number is known: nothing that is looked for delays that. */
  stop(signal: Signal): void {
    const { pid, hasNamespace } = this.#parts.command;
    const isKnown = !hasNamespace && !this.#isCommandReaped;
    if (isKnown) sendToAll([pid], signal);
    try {
      this.#reapEnded();
      const others = this.#living().filter((member) => !isKnown || member !== pid);
      sendToAll(others, signal);
    } catch {
      // It cannot be looked at; killing comes next, and does not give up.
    }
  }

  /**
   * Kills our children, then those that become our children by that, and so on. Only we can reap
   * them, so their numbers cannot be those of other processes.
   */
  async kill(): Promise<readonly number[]> {
    this.#killedAt.clear();
    for (let lookCount = 0, emptyCount = 0; emptyCount < emptyLookCount; lookCount += 1) {
      try {
        // At once again as long as new ones appear: a chain of forks must not outrun us.
        while (this.#killChildren());
        if (!this.#parts.libc.hasChildren()) return [];
        emptyCount = this.#killable().length === 0 ? emptyCount + 1 : 0;
      } catch {
        emptyCount = 0; // It cannot be looked at now; it can in a moment.
      }
      await sleep(lookCount < hastyLookCount ? hastyMs : calmMs);
    }
    return [...this.#unkillable];
  }

  /** SIGKILL to every child. True: some of them had not been sent it before. */
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

  /** Our children, and what is below those that cannot be killed, which never becomes a child. */
  #targets(): number[] {
    const children = this.#children();
    const unkillable = children.filter((pid) => this.#unkillable.has(pid));
    return [...children, ...below(unkillable)];
  }

  /**
   * A group of a session that was founded in the tree dies in one step, while none of it can fork.
   * The link of a chain that has ended tells it as well: until it is reaped its group keeps its
   * number.
   */
  #killOne(pid: number): void {
    const entry = processEntry(pid);
    if (!send(pid, 'SIGKILL')) this.#unkillable.add(pid);
    if (entry && this.#isFoundedInside(entry)) send(-entry.group, 'SIGKILL');
  }

  #isFoundedInside({ session }: ProcessEntry): boolean {
    return session !== this.#parts.callerSession && session !== this.#ownSession;
  }

  /** Those that are about to end. */
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
   * Our children but for the command when it has ended and Node has not reaped it yet. What else has
   * ended has been reaped by now, so that a child lives although it may be hidden from us.
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
      // Its number may be that of another child from now on.
      this.#killedAt.delete(pid);
      this.#unkillable.delete(pid);
    }
  }

  /** To whom a signal for the command goes where it runs in a namespace of its own. */
  #inNamespace(): number[] {
    const { pid, isForeground } = this.#parts.command;
    const living = this.#living();
    if (!isForeground) return living.filter((member) => processEntry(member)?.group === pid);
    return living.filter((member) => namespacedPids(member)[1] === commandInside);
  }

  /** To be called when what has ended has been reaped. */
  #living(): number[] {
    const { hasNamespace } = this.#parts.command;
    const children = this.#livingChildren();
    const all = [...children, ...below(children).filter(isSeenAlive)];
    return hasNamespace ? all.filter((pid) => !holdsNamespace(pid)) : all;
  }

  /** Also those that have ended and are not reaped yet. */
  #children(): number[] {
    return childrenOf(process.pid).filter((pid) => !this.#parts.isOther(pid));
  }
}

/** @throws RunTrouble where the processes of a command cannot be kept together */
export function libcForTree(): Libc {
  const cannot = 'guard: processes cannot be guarded here';
  const objection = objectionToTable();
  if (objection) throw new RunTrouble(`${cannot}: ${objection}`);
  try {
    return loadLibc();
  } catch (error) {
    const why = `the C library cannot be called: ${(error as Error).message.split('\n')[0]}`;
    const advice = 'install redlock-run with its optional packages, or use the executable';
    throw new RunTrouble(`${cannot}: ${why} (${advice})`);
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

/** The numbers inside a namespace, in the order of forks: see isolation.ts. */
const readerInside = 2;
const commandInside = 3;

/** Whether the process only holds the namespace open: unshare(1), the first process, its reader. */
function holdsNamespace(pid: number): boolean {
  const [, inside] = namespacedPids(pid);
  return inside === undefined || inside <= readerInside;
}
