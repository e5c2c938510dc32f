// Starts the command, and has everything ready for it that can be before the lock is ours. It decides nothing and waits for nobody.
// The surprise: who waits in line rehearses. Code that runs for the first time takes five times as long, and the moment at which
// a lock is handed over is the one for which everybody waits.

import type { Clock } from '../lock/ports.ts';
import type { Lease } from '../lock/redlock.ts';
import type { Ahead } from './ahead.ts';
import { childOf, rootOf, type StartedChild, startCommand } from './child.ts';
import { childEnvironment } from './environment.ts';
import type { Isolation } from './isolation.ts';
import { type RehearsalParts, rehearse } from './rehearsal.ts';
import type { RunSettings } from './run.ts';
import type { Start, Subprocess } from './subprocess.ts';
import { findCounters } from './tree/counters.ts';
import { Newcomers } from './tree/newcomers.ts';
import { processTable } from './tree/process-table.ts';
import { type Root, Tree } from './tree/tree.ts';

export interface LauncherParts {
  readonly command: readonly string[];
  readonly runId: string;
  readonly isForeground: boolean;
  /** null: none. */
  readonly isolation: Isolation | null;
  readonly clock: Clock;
}

/** What a rehearsal needs of the job that it is one of. */
export interface Rehearsed extends Pick<RehearsalParts, 'newClaim' | 'recordOf' | 'rehearseGuard'> {
  readonly settings: RunSettings & { readonly masterTimeoutMs: number };
  /** The command's process is there, and may become the command at any moment from now on. */
  readonly onReady: (root: Root) => void;
}

/** How long somebody is in line before he rehearses: his turn may come sooner than that. */
const rehearsalMs = 100;
/** No command can be called so: it is a folder. */
const unstartable = ['/'];

export class Launcher {
  readonly #parts: LauncherParts;
  /** As it is now: asking for all of it takes time when it counts. */
  readonly #environment = { ...process.env };
  readonly #kin: Kin;
  #execa: Start | null = null;
  #isRehearsed = false;
  #ahead: Ahead | null = null;
  #isOver = false;

  constructor(parts: LauncherParts) {
    this.#parts = parts;
    this.#kin = kinOf(parts.runId);
  }

  /** Resolves when the command can be started. */
  async load(): Promise<void> {
    this.#execa = (await import('execa')).execa;
  }

  launch(lease: Lease): StartedChild {
    const plan = { ...this.#parts, environment: this.environmentFor(lease, this.#parts.runId) };
    this.#isOver = true;
    return this.#childOf(this.#ahead?.pass(plan.environment) ?? startCommand(this.#execa as Start, plan), this.#kin);
  }

  /** Nothing will be launched any more. Resolves when nobody is ready for it. */
  async close(): Promise<void> {
    this.#isOver = true;
    await this.#ahead?.close();
  }

  /** What the command is told of its lease, and of the run as `runId`. */
  environmentFor(lease: Lease, runId: string): NodeJS.ProcessEnv {
    return childEnvironment(this.#environment, lease, runId);
  }

  /** It is not our turn yet, in this moment; `isInLine`: but it will be. Never rejects. */
  async prepare(isInLine: boolean, rehearsed: Rehearsed): Promise<void> {
    this.#kin.newcomers.begin();
    if (!isInLine || this.#isRehearsed) return;
    this.#isRehearsed = true;
    await this.#parts.clock.sleep(rehearsalMs);
    const start = this.#execa;
    if (this.#isOver || !start) return;
    try {
      await this.#goAhead(start, await this.#rehearse(start, rehearsed), rehearsed.onReady);
    } catch {
      // As when the machine is out of descriptors: it is told when it matters.
    }
  }

  /** Resolves with the environment that a command would have had. */
  async #rehearse(start: Start, { settings, ...facts }: Rehearsed): Promise<NodeJS.ProcessEnv> {
    // Nobody's: the command may be started any moment, and what a rehearsal finds to be left behind is ended.
    const runId = `rehearsal of ${this.#parts.runId}`;
    const kin = kinOf(runId);
    const plan = { command: unstartable, isForeground: this.#parts.isForeground, isolation: null };
    let environment: NodeJS.ProcessEnv = {};
    const startChild = (lease: Lease) => {
      environment = this.environmentFor(lease, runId);
      return this.#childOf(startCommand(start, { ...plan, environment }), kin);
    };
    await rehearse(settings, { ...facts, clock: this.#parts.clock, random: Math.random, startChild });
    kin.tree.scan({ first: process.pid, last: process.pid });
    return environment;
  }

  /** Not where a terminal's signals would reach it before its time, nor inside unshare(1), which makes processes of its own. */
  async #goAhead(start: Start, example: NodeJS.ProcessEnv, onReady: Rehearsed['onReady']): Promise<void> {
    const { command, isForeground, isolation } = this.#parts;
    const { newcomers } = this.#kin;
    if (isForeground || isolation) return;
    const onStarted = (pid: number) => {
      newcomers.awaitRoot(pid);
      const root = rootOf({ pid }, { ...this.#parts, table: processTable });
      if (root) onReady(root);
    };
    const plan = { command, environment: this.#environment, example, onStart: () => newcomers.begin(), onStarted };
    const { Ahead } = await import('./ahead.ts');
    if (this.#isOver) return;
    this.#ahead = new Ahead();
    await this.#ahead.prepare(start, plan);
  }

  #childOf(subprocess: Subprocess, kin: Kin): StartedChild {
    return childOf(subprocess, { ...this.#parts, ...kin, table: processTable });
  }
}

/** Those whom a command starts, and how to tell that nobody of them is left. */
interface Kin {
  readonly tree: Tree;
  readonly newcomers: Newcomers;
}

function kinOf(runId: string): Kin {
  const tree = new Tree(processTable, runId, process.pid);
  const newcomers = new Newcomers(findCounters(), tree);
  newcomers.begin();
  return { tree, newcomers };
}
