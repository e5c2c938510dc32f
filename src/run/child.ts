// The command as a child process, started by execa on the caller's own stdin, stdout and stderr, with all that it starts. It
// decides nothing. The surprise: with a terminal the child stays in our process group, so that Ctrl-C, Ctrl-Z and /dev/tty
// work; without one it leads a session of its own, so that signals reach everything it starts and nothing of ours.

import type { Readable } from 'node:stream';
import type { Clock } from '../lock/ports.ts';
import { exitInside, type Isolation, statusDescriptor } from './isolation.ts';
import { type Result, type Start, type Subprocess, startSubprocess } from './subprocess.ts';
import type { ChildExit, Signal } from './supervisor.ts';
import type { ProcessTable } from './tree/census.ts';
import type { Newcomers } from './tree/newcomers.ts';
import { countAlive, killTree, remember, send, stopTree } from './tree/sweep.ts';
import type { Root, Tree } from './tree/tree.ts';

export interface Child {
  readonly pid: number | undefined;
  /** Never rejects. */
  readonly exited: Promise<ChildExit>;
  /** Passes a signal on to the child, and to its group where it leads one. */
  relay(signal: Signal): void;
  /** To everything that the command has started and that still runs. */
  stop(signal: Signal): void;
  /** SIGKILL to everything until nobody is left; resolves with those whom we may not kill. */
  kill(): Promise<readonly number[]>;
  /** How many are alive, the child included. */
  aliveCount(): number;
  /** A namespace is held open around it, to be killed also when nobody is left in it. */
  readonly isEnclosed?: boolean;
}

export interface StartPlan {
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly isForeground: boolean;
  /** null: none. */
  readonly isolation: Isolation | null;
}

export interface ChildPlan extends Pick<StartPlan, 'isForeground' | 'isolation'> {
  readonly table: ProcessTable;
  readonly tree: Tree;
  /** They have begun. */
  readonly newcomers: Newcomers;
  readonly clock: Clock;
}

/** A child of the system, with what the guard must know to find it. */
export interface StartedChild extends Child {
  readonly root: Root | null;
  /** Looks at who is there, to know them again. */
  remember(): void;
}

export function startCommand(start: Start, plan: StartPlan): Subprocess {
  const { command, environment, isForeground, isolation } = plan;
  const words = [...(isolation ?? []), ...command];
  return startSubprocess(start, words, { environment, isLeader: !isForeground, hasPipe: isolation !== null });
}

/** The command that this process is, or becomes. */
export function childOf(subprocess: Subprocess, plan: ChildPlan): StartedChild {
  const { isForeground, isolation, tree, newcomers, clock } = plan;
  const { pid } = subprocess;
  const root = rootOf(subprocess, plan);
  if (root !== null) {
    tree.setRoot(root);
    newcomers.setRoot(root.pid);
  }
  const exited = new Promise<ChildExit>((resolve) => {
    if (isolation) exitInside(subprocess.stdio[statusDescriptor] as Readable).then(resolve);
    // Comes before execa has put its result together, and never after a start that failed.
    else
      subprocess.once('exit', (code, signal) =>
        resolve(exitOf({ exitCode: code ?? undefined, signal: signal ?? undefined })),
      );
    subprocess.then((result) => resolve(exitOf(result)));
  });
  return {
    pid,
    root,
    exited,
    isEnclosed: isolation !== null,
    relay: (signal) => {
      if (root === null) return;
      // unshare does not pass signals on, and some of them would end it.
      if (isolation) for (const member of tree.insideEnclosure(isForeground)) send(member, signal);
      else send(isForeground ? root.pid : -root.pid, signal);
    },
    stop: (signal) => stopTree(tree, signal),
    kill: () => killTree(tree, clock),
    aliveCount: () => (newcomers.areGone() ? 0 : countAlive(tree)),
    remember: () => remember(tree),
  };
}

/** What it takes to know it again; null: it could not be started. */
export function rootOf(
  { pid }: { pid?: number | undefined },
  plan: Omit<ChildPlan, 'tree' | 'newcomers' | 'clock'>,
): Root | null {
  if (pid === undefined) return null;
  const { table, isForeground, isolation } = plan;
  return { pid, startedAt: table.startedAt(pid), isLeader: !isForeground, isEnclosure: isolation !== null };
}

function exitOf({ exitCode, signal, code, shortMessage = '' }: Result): ChildExit {
  if (exitCode !== undefined) return { kind: 'exited', code: exitCode };
  if (signal !== undefined) return { kind: 'signaled', signal: signal as Signal };
  return code === 'ENOENT' ? { kind: 'not-found' } : { kind: 'not-executable', message: code ?? shortMessage };
}
