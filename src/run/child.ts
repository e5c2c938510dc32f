// The command as a child process, started by execa on the caller's own stdin, stdout and stderr, with all that it starts. It
// decides nothing. The surprise: with a terminal the child stays in our process group, so that Ctrl-C, Ctrl-Z and /dev/tty
// work; without one it leads a session of its own, so that signals reach everything it starts and nothing of ours.

import type { execa, Options } from 'execa';
import type { Clock } from '../lock/ports.ts';
import type { ChildExit, Signal } from './supervisor.ts';
import { killTree, stopTree } from './tree/sweep.ts';
import type { Tree } from './tree/tree.ts';

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
}

export interface ChildPlan {
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly isForeground: boolean;
  readonly tree: Tree;
  readonly clock: Clock;
}

/** `start` is execa's own function, passed in so that loading it can overlap with waiting for the masters. */
export function startChild(start: typeof execa, plan: ChildPlan): Child {
  const { command, environment, isForeground, tree, clock } = plan;
  const [file = '', ...words] = command;
  const options = {
    stdio: 'inherit',
    buffer: false,
    reject: false,
    cleanup: false,
    detached: !isForeground,
    env: environment,
    extendEnv: false,
  } satisfies Options;
  const subprocess = start(file, words, options);
  const { pid } = subprocess;
  if (pid !== undefined) tree.setRoot({ pid, isLeader: !isForeground });
  return {
    pid,
    exited: subprocess.then(exitOf),
    relay: (signal) => pid !== undefined && sendSignal(isForeground ? pid : -pid, signal),
    stop: (signal) => stopTree(tree, signal),
    kill: async () => (await killTree(tree, clock)).untouchable,
    aliveCount: () => tree.scan().length,
  };
}

interface Result {
  readonly exitCode?: number | undefined;
  readonly signal?: Signal | string | undefined;
  readonly code?: string | undefined;
  readonly shortMessage?: string | undefined;
}

function exitOf({ exitCode, signal, code, shortMessage = '' }: Result): ChildExit {
  if (exitCode !== undefined) return { kind: 'exited', code: exitCode };
  if (signal !== undefined) return { kind: 'signaled', signal: signal as Signal };
  return code === 'ENOENT' ? { kind: 'not-found' } : { kind: 'not-executable', message: code ?? shortMessage };
}

/** A process that is gone already, or not ours to signal, needs none. */
function sendSignal(target: number, signal: Signal): void {
  try {
    process.kill(target, signal);
  } catch {
    // Nothing to do: stopping and killing, where it matters who was not reached, go by the tree.
  }
}
