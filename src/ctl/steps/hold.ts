// `redlockctl hold NAME`: acquires a lock and extends it until it is released with its token, a
// signal comes, or the process for which it is held has ended (holder-daemon.ts). It runs no
// command and stops none. A daemon that loses the lock has no terminal to report it on: `check` and
// the history tell.

import { spawn } from 'node:child_process';
import { renderRecord } from '../../lock/history.ts';
import type { Lease } from '../../lock/types.ts';
import { ConfigError, exitCode, UsageError } from '../../text/errors.ts';
import { quoted } from '../../text/foreign-text.ts';
import { type Call, holderRoleName, type OwnerProcess } from '../call.ts';
import { failed, holderOf, openRedlock, partsOf, ticketText, wantedBy } from './acquire.ts';
import { type End, hold as holdLock, type Terms } from './holder-daemon.ts';

// `--background` starts this program again, as a daemon in a session of its own that holds the lock
// after redlockctl has ended. redlockctl waits until the daemon has the lock, prints the token, and
// confirms that to the daemon. *Invariant:* without that confirmation the daemon releases the lock:
// a lock whose token nothing knows could not be released.

/** The confirmation that the token has been printed. */
const told = 'told';

export interface HolderRole {
  readonly owner: OwnerProcess;
  /** redlockctl has ended before it confirmed. */
  readonly abandoned: AbortSignal;
  /** Resolves with whether redlockctl has confirmed; the daemon then uses nothing of its caller. */
  handOver(): Promise<boolean>;
}

/** Starts the daemon and prints what it prints. Returns the exit code. */
async function startInBackground(call: Call): Promise<number> {
  const { program, processes, environment, print, flushed, stderr, interrupted } = call;
  const owner = ownerFor(call) ?? processes.caller();
  if (owner === null)
    throw new UsageError('hold: the process that called cannot be seen (name one by --while-pid)');
  const holder = spawn(program.file, program.args, {
    argv0: program.argv0,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...environment, [holderRoleName]: `${owner.pid}:${owner.startedAt}` },
  });
  let handle = '';
  let errors = '';
  const code = await new Promise<number | null>((resolve, reject) => {
    holder.once('error', reject);
    holder.once('close', (code) => resolve(code ?? exitCode.bug));
    holder.stdout.setEncoding('utf8').on('data', (text) => {
      handle += text;
      if (handle.endsWith('\n')) resolve(null);
    });
    holder.stderr.setEncoding('utf8').on('data', (text) => {
      errors += text;
    });
    // The daemon has ended; its exit code tells why.
    holder.stdin.on('error', () => {});
    interrupted().addEventListener('abort', () => holder.stdin.end());
  });
  if (code === null) {
    print(handle);
    await flushed();
    await new Promise<void>((resolve) => holder.stdin.end(told, resolve));
  }
  // What it has written before its token has come by now, too.
  stderr.write(errors); // Whole lines: the daemon is this program.
  return code ?? exitCode.ok;
}

/**
 * The role of this process when it is the daemon; null: called by a user. *Invariant:* with the
 * variable set it starts no daemon, which could start another one, without end.
 * @throws ConfigError where the variable is not what redlockctl writes
 */
function holderRole(environment: NodeJS.ProcessEnv): HolderRole | null {
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
      if (received !== told) abandoned.abort('abandoned');
      resolve(received === told);
    });
  });
  const handOver = () => {
    // A working directory would keep its file system from being unmounted.
    process.chdir('/');
    return confirmed;
  };
  return {
    owner: { pid: Number(pid), startedAt: Number(startedAt) },
    abandoned: abandoned.signal,
    handOver,
  };
}

/** The process of --while-pid; null without it. */
function ownerFor({ args, processes }: Call): OwnerProcess | null {
  const text = args.textOf('--while-pid');
  if (text === null) return null;
  const owner = /^\d{1,9}$/.test(text) ? processes.ownerOf(Number(text)) : null;
  if (owner === null)
    throw new UsageError(`--while-pid: ${JSON.stringify(text)}: no such process (write a pid)`);
  return owner;
}

const label = 'redlockctl hold';

export async function hold(call: Call): Promise<number> {
  const { args, settings, holderRecord, environment, processes, print, tell, interrupted } = call;
  const role = holderRole(environment);
  if (role === null && args.has('--background')) return startInBackground(call);
  const owner = role?.owner ?? ownerFor(call);
  const name = args.operands[0] ?? '';
  const ended = AbortSignal.any([interrupted(), ...(role ? [role.abandoned] : [])]);
  // Of a daemon nothing is read any more when its token has been printed.
  let isRead = true;
  const { close, ...opened } = await openRedlock(call, (line) => {
    if (isRead) tell(line);
  });
  const { masterTimeoutMs } = settings;
  const own = partsOf(call, label);
  const forPid = owner === null ? {} : { forPid: owner.pid };
  const record = () => ({ ...own.holderRecord(), ...forPid });
  const parts = { ...opened, ...own, holderRecord: record, masterTimeoutMs };
  const isWanted = () => owner === null || processes.isThere(owner);
  const kept = await holdLock(parts, wantedBy(call), {
    isWanted,
    ended,
    handOver: async (lease) => {
      print(ticketText(call, lease, { pid: holderRecord().pid }));
      isRead = role === null;
      return role === null || role.handOver();
    },
    recordOf: settings.hasHistory ? recordBy(call) : () => null,
  });
  close();
  if (kept.kind === 'not-acquired') {
    if (kept.acquisition.kind === 'aborted' && !isWanted()) {
      tell(`given up: ${quoted(name)}: the process for which it was to be held is gone`);
    }
    return failed(name, kept.acquisition, call);
  }
  if (kept.end === 'stopped' && role === null)
    tell(`stopped: ${quoted(name)}: a person asked for it; nothing was stopped (see history)`);
  if (kept.end === 'stopped') return exitCode.lost;
  if (kept.end !== 'lost') return exitCode.ok;
  if (role === null) tell(`lost: ${quoted(name)}: others may have it; nothing was stopped`);
  return exitCode.lost;
}

/** The line in the history for each end. */
const facts = {
  released: { outcome: 'ran', exitCode: 0, status: 0 },
  told: { outcome: 'signal', exitCode: null, status: 143 },
  unwanted: { outcome: 'signal', exitCode: null, status: 129 },
  stopped: { outcome: 'stopped', exitCode: null, status: exitCode.lost },
  lost: { outcome: 'lost', exitCode: null, status: exitCode.lost },
} as const satisfies Record<End, object>;

function recordBy(call: Call): Terms['recordOf'] {
  return ({ claim, fence }: Lease, end, waitMs, heldMs) => {
    const { since, ...holder } = holderOf(call, label);
    return renderRecord({
      token: claim.token,
      ...holder,
      ...facts[end],
      waitMs: Math.round(waitMs),
      heldMs: Math.round(heldMs),
      signal: null,
      fence,
      blocker: null,
    });
  };
}
