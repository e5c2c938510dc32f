// `hold --background`: this program a second time, in a session of its own, which holds the lock after we have ended. We wait until it has
// the lock, print what it says, and go. The surprise: until we have said what we were told, it gives the lock back as soon as we are gone:
// a token that nobody was told would be a lock that nobody gives back.

import { spawn } from 'node:child_process';
import { UsageError } from '../../text/errors.ts';
import { exitCode } from '../../text/exit-codes.ts';
import type { Call, OwnerProcess } from '../call.ts';

/** The variable that makes this program the one in the background: pid and start of the process for which it holds. */
const roleName = 'REDLOCK_HOLDER';
/** What is said when the token has been told. */
const told = 'told';

export interface HolderRole {
  readonly owner: OwnerProcess;
  /** Who started us has gone before the token was told. */
  readonly abandoned: AbortSignal;
  /** Resolves with whether the token has been told. Nothing of theirs is used any more then. */
  handOver(): Promise<boolean>;
}

/** Starts it, waits for what it says, and says it. Returns the exit code. */
export async function startInBackground(call: Call): Promise<number> {
  const { program, processes, environment, print, flushed, tell, interrupted } = call;
  const owner = ownerFor(call) ?? processes.caller();
  if (owner === null)
    throw new UsageError('hold: the process that called cannot be seen (name one by --while-pid)');
  const holder = spawn(program.file, program.words, {
    argv0: program.argv0,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...environment, [roleName]: `${owner.pid}:${owner.startedAt}` },
  });
  let ticket = '';
  let complaint = '';
  const code = await new Promise<number | null>((resolve, reject) => {
    holder.once('error', reject);
    holder.once('close', (code) => resolve(code ?? exitCode.bug));
    holder.stdout.setEncoding('utf8').on('data', (text) => {
      ticket += text;
      if (ticket.endsWith('\n')) resolve(null);
    });
    holder.stderr.setEncoding('utf8').on('data', (text) => {
      complaint += text;
    });
    // It has ended, and its code says why.
    holder.stdin.on('error', () => {});
    interrupted().addEventListener('abort', () => holder.stdin.end());
  });
  if (code !== null) {
    for (const line of complaint.split('\n'))
      if (line !== '') tell(line.replace(/^redlockctl: /, ''));
    return code;
  }
  print(ticket);
  await flushed();
  await new Promise<void>((resolve) => holder.stdin.end(told, resolve));
  return exitCode.ok;
}

/** What we are if we were started so; null: called by a user. */
export function holderRole(environment: NodeJS.ProcessEnv): HolderRole | null {
  const [, pid, startedAt] = /^(\d+):(\d+)$/.exec(environment[roleName] ?? '') ?? [];
  if (pid === undefined) return null;
  const abandoned = new AbortController();
  const heard = new Promise<boolean>((resolve) => {
    let said = '';
    process.stdin.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
    process.stdin.once('close', () => {
      if (said !== told) abandoned.abort('abandoned');
      resolve(said === told);
    });
  });
  const handOver = () => {
    // Or a file system could not be unmounted as long as the lock is held.
    process.chdir('/');
    return heard;
  };
  return {
    owner: { pid: Number(pid), startedAt: Number(startedAt) },
    abandoned: abandoned.signal,
    handOver,
  };
}

/** The process of --while-pid; null without it. */
export function ownerFor({ words, processes }: Call): OwnerProcess | null {
  const text = words.textOf('--while-pid');
  if (text === null) return null;
  const owner = /^\d{1,9}$/.test(text) ? processes.ownerOf(Number(text)) : null;
  if (owner === null)
    throw new UsageError(`--while-pid: ${JSON.stringify(text)}: no such process (write a pid)`);
  return owner;
}
