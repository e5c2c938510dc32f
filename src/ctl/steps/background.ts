// `hold --background` starts this program again, as a daemon in a session of its own that holds the
// lock after redlockctl has ended. redlockctl waits until the daemon has the lock, prints the
// token, and confirms that to the daemon. *Invariant:* without that confirmation the daemon
// releases the lock: a lock whose token nothing knows could not be released.

import { spawn } from 'node:child_process';
import type { ProcessId } from '../../system/process-table.ts';
import { callerOf, ownerOf } from '../../system/process-table.ts';
import { ConfigError, exitCode, UsageError } from '../../text/errors.ts';
import { quoted } from '../../text/foreign-text.ts';
import { type Call, holderRoleName } from '../call.ts';

/** The confirmation that the token has been printed. */
const confirmation = 'told';

/** Starts the daemon and prints what it prints. Returns the exit code. */
export async function startInBackground(call: Call): Promise<number> {
  const { program, environment, print, flushed, stderr, interrupted } = call;
  const owner = ownerFor(call) ?? callerOf(process.ppid);
  if (owner === null)
    throw new UsageError('hold: the process that called cannot be seen (name one by --while-pid)');
  const holder = spawn(program.file, program.args, {
    argv0: program.argv0,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...environment, [holderRoleName]: `${owner.pid}:${owner.startedAt}` },
  });
  let handle = '';
  const code = await new Promise<number | null>((resolve, reject) => {
    holder.once('error', reject);
    holder.once('close', (code) => resolve(code ?? exitCode.bug));
    holder.stdout.setEncoding('utf8').on('data', (text) => {
      handle += text;
      if (handle.endsWith('\n')) resolve(null);
    });
    holder.stderr.setEncoding('utf8').on('data', (text) => {
      stderr.write(text); // Whole lines: the daemon is this program, and may wait for long.
    });
    // The daemon has ended; its exit code shows why.
    holder.stdin.on('error', () => {});
    interrupted().addEventListener('abort', () => holder.stdin.end());
  });
  if (code === null) {
    print(handle);
    await flushed();
    await new Promise<void>((resolve) => holder.stdin.end(confirmation, resolve));
  }
  return code ?? exitCode.ok;
}

interface HolderRole {
  /** The process that the daemon holds the lock for. */
  readonly owner: ProcessId;
  /** redlockctl has ended before it confirmed. */
  readonly abandoned: AbortSignal;
  /** Resolves with whether redlockctl has confirmed; the daemon then uses nothing of its caller. */
  handOver(): Promise<boolean>;
}

/**
 * The role of this process when it is the daemon; null: called by a user. *Invariant:* with the
 * variable set it starts no daemon, which could start another one, without end.
 * @throws ConfigError where the variable is not what redlockctl writes
 */
export function holderRole(environment: NodeJS.ProcessEnv): HolderRole | null {
  const role = environment[holderRoleName];
  if (role === undefined) return null;
  const [, pid, startedAt] = /^(\d+):(\d+)$/.exec(role) ?? [];
  if (pid === undefined)
    throw new ConfigError(`${holderRoleName}: ${quoted(role)}: is for redlockctl alone (unset it)`);
  const abandoned = new AbortController();
  const confirmed = new Promise<boolean>((resolve) => {
    let received = '';
    process.stdin.setEncoding('utf8').on('data', (text) => {
      received += text;
    });
    process.stdin.once('close', () => {
      if (received !== confirmation) abandoned.abort('abandoned');
      resolve(received === confirmation);
    });
  });
  const handOver = () => {
    // A working directory would keep its file system from being unmounted.
    process.chdir('/');
    return confirmed;
  };
  const owner = { pid: Number(pid), startedAt: Number(startedAt) };
  return { owner, abandoned: abandoned.signal, handOver };
}

/** The process of --while-pid; null without it. */
export function ownerFor({ args }: Call): ProcessId | null {
  const text = args.textOf('--while-pid');
  if (text === null) return null;
  const owner = /^\d{1,9}$/.test(text) ? ownerOf(Number(text)) : null;
  if (owner === null)
    throw new UsageError(`--while-pid: ${JSON.stringify(text)}: no such process (write a pid)`);
  return owner;
}
