// Starts the command, and has everything ready for it that can be before the lock is ours. It decides nothing and waits for nobody.
// The surprise: who waits in line rehearses. Code that runs for the first time takes five times as long, and the moment at which
// a lock is handed over is the one for which everybody waits.

import type { execa } from 'execa';
import type { Clock } from '../lock/ports.ts';
import type { Lease } from '../lock/redlock.ts';
import { type StartedChild, startChild } from './child.ts';
import { childEnvironment } from './environment.ts';
import type { Isolation } from './isolation.ts';
import { type RehearsalParts, rehearse } from './rehearsal.ts';
import type { RunSettings } from './run.ts';
import { findCounters } from './tree/counters.ts';
import { Newcomers } from './tree/newcomers.ts';
import { processTable } from './tree/process-table.ts';
import { Tree } from './tree/tree.ts';

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
  #execa: typeof execa | null = null;
  #isRehearsed = false;
  #hasLaunched = false;

  constructor(parts: LauncherParts) {
    this.#parts = parts;
    this.#kin = kinOf(parts.runId);
  }

  /** Resolves when the command can be started. */
  async load(): Promise<void> {
    this.#execa = (await import('execa')).execa;
  }

  launch(lease: Lease): StartedChild {
    const { command, isolation } = this.#parts;
    this.#hasLaunched = true;
    return this.#start(command, isolation, lease, this.#kin);
  }

  /** What the command is told of its lease, and of the run as `runId`. */
  environmentFor(lease: Lease, runId: string): NodeJS.ProcessEnv {
    return childEnvironment(this.#environment, lease, runId);
  }

  /** It is not our turn yet, in this moment; `isInLine`: but it will be. */
  async prepare(isInLine: boolean, rehearsed: Rehearsed): Promise<void> {
    this.#kin.newcomers.begin();
    if (!isInLine || this.#isRehearsed) return;
    this.#isRehearsed = true;
    await this.#parts.clock.sleep(rehearsalMs);
    if (this.#hasLaunched || !this.#execa) return;
    const { settings, ...facts } = rehearsed;
    // Nobody's: the command may be started any moment, and what a rehearsal finds to be left behind is ended.
    const kin = kinOf(`rehearsal of ${this.#parts.runId}`);
    const startChild = (lease: Lease) => this.#start(unstartable, null, lease, kin);
    await rehearse(settings, { ...facts, clock: this.#parts.clock, random: Math.random, startChild });
    kin.tree.scan({ first: process.pid, last: process.pid });
  }

  #start(command: readonly string[], isolation: Isolation | null, lease: Lease, kin: Kin): StartedChild {
    const { runId, isForeground, clock } = this.#parts;
    return startChild(this.#execa as typeof execa, {
      command,
      environment: this.environmentFor(lease, runId),
      isForeground,
      isolation,
      table: processTable,
      ...kin,
      clock,
    });
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
