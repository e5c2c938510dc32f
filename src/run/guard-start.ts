// Starts the guard by execa, with the command as its arguments: with exactly the arguments and the
// environment that it is given, on the caller's own streams, in the caller's folder. The guard
// gives the command a session of its own, or leaves it in the caller's process group at a terminal.

import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import os from 'node:os';
import type { CpuQuota } from '../system/cpu-quota.ts';
import { execa } from './execa.ts';
import type { Signal } from './record.ts';

export interface GuardPlan {
  /** Its executable. */
  readonly file: string;
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly isForeground: boolean;
  readonly isIsolated: boolean;
  /** The command is not started if stderr has been hung up. */
  readonly needsCaller: boolean;
  readonly stopSignal: Signal;
  readonly graceMs: number;
  /** The guard acts this much later than redlock-run, so that both do not do the same work. */
  readonly slackMs: number;
  /** With little processor time, it takes longer to end processes; null: it is never limited. */
  readonly quota: CpuQuota | null;
}

/** A process, and what kept it from being started. */
interface Start {
  readonly child: Pick<ChildProcess, 'pid' | 'stdio' | 'once' | 'kill'>;
  /** Resolves with the error of a start that has failed; otherwise with anything, or never. */
  readonly failure: Promise<unknown>;
}

/** The streams of the command, the requests to each guard, and the reports. */
const stdio = ['inherit', 'inherit', 'inherit', 'pipe', 'pipe', 'pipe'] as const;

export function startGuard(plan: GuardPlan, deadlines: readonly string[]): Start {
  const { file, command, environment, isForeground, isIsolated, needsCaller, quota } = plan;
  const options = [
    '--protocol=1',
    `--signal=${os.constants.signals[plan.stopSignal]}`,
    `--grace=${Math.ceil(plan.graceMs)}`,
    ...(quota ? [`--quota=${quota.file}`, `--quota-period=${quota.periodUs}`] : []),
    ...(isForeground ? ['--foreground'] : []),
    ...(isIsolated ? ['--isolate'] : []),
    ...(needsCaller ? ['--unless-hung-up'] : []),
  ];
  const args = [...options, ...deadlines, '--', ...command];
  const cwd = callerFolder();
  if (cwd === null) {
    // execa always changes to a folder, and cannot stay in one that may not be entered.
    const child = spawn(file, args, { stdio: [...stdio], env: environment });
    return { child, failure: new Promise((resolve) => child.once('error', resolve)) };
  }
  const child = execa(file, args, {
    stdio: [...stdio],
    env: environment,
    cwd,
    extendEnv: false,
    reject: false,
    buffer: false,
    cleanup: false,
    verbose: 'none', // NODE_DEBUG would change it.
  });
  // Some errors (E2BIG) have no event. In a folder that has been removed the promise rejects,
  // because execa asks for the folder to report an error.
  const failure = new Promise((resolve) => {
    child.once('error', resolve);
    child.then(({ cause }) => resolve(cause), resolve);
  });
  return { child, failure };
}

/**
 * A path to the working folder; null where it may not be entered, or no path leads to it. On Linux
 * it is the one that also leads to a folder that has been removed, or that others may not reach.
 */
function callerFolder(): string | null {
  try {
    const folder = process.platform === 'linux' ? '/proc/self/cwd' : process.cwd();
    accessSync(folder, constants.X_OK);
    return folder;
  } catch {
    return null;
  }
}
