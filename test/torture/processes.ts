// Processes as the kernel shows them to the witness and to the faults, by nothing but /proc.

import { readdirSync, readFileSync } from 'node:fs';

/** A process that cannot be taken for a later one with the same number. */
export interface Identity {
  readonly pid: number;
  readonly startedAt: string;
}

const sigkillBit = 1n << 8n;

export function wordsOf(pid: number): readonly string[] {
  return read(pid, 'cmdline').split('\0');
}

export function allPids(): readonly number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger);
}

/** null: it has ended. */
export function identityOf(pid: number): Identity | null {
  const startedAt = statOf(pid)?.[19];
  return startedAt === undefined ? null : { pid, startedAt };
}

export function isThere({ pid, startedAt }: Identity): boolean {
  const stat = statOf(pid);
  return stat?.[19] === startedAt && stat[0] !== 'Z' && stat[0] !== 'X';
}

/**
 * Whether it can still do anything: a process that has SIGKILL pending, or is on its way out, only
 * waits for processor time in order to end.
 */
export function canAct(pid: number): boolean {
  const state = statOf(pid)?.[0];
  if (state === undefined || state === 'Z' || state === 'X') return false;
  const status = read(pid, 'status');
  const isKilled = [...status.matchAll(/^(?:SigPnd|ShdPnd):\s*([0-9a-f]+)$/gm)].some(
    ([, signals]) => (BigInt(`0x${signals}`) & sigkillBit) !== 0n,
  );
  // Without memory of its own it is past its end.
  return !isKilled && /^VmSize:/m.test(status);
}

/** The two processes between redlock-run and its command: each can end the tree by itself. */
export interface Guards {
  readonly outer: Identity;
  readonly inner: Identity;
}

/** null: one of the two is not there. Both have their name from when they have settled. */
export function guardsOf(run: number): Guards | null {
  const outer = guardBelow(run);
  const inner = outer && guardBelow(outer.pid);
  return outer && inner && { outer, inner };
}

function guardBelow(parent: number): Identity | null {
  const pid = childrenOf(parent).find((child) => wordsOf(child)[0] === 'redlock-guard');
  const guard = pid === undefined ? null : identityOf(pid);
  return guard && isThere(guard) ? guard : null;
}

function childrenOf(pid: number): readonly number[] {
  return read(pid, `task/${pid}/children`).trim().split(' ').filter(Boolean).map(Number);
}

/** The threads of a process and its children, and what they wait for: why does it not end? */
export function describe(pid: number): string {
  const threads = entries(pid, 'task').map((thread) => {
    const [name, place, stack] = ['comm', 'wchan', 'stack'].map((file) =>
      read(pid, `task/${thread}/${file}`).trim(),
    );
    const calls = [...(stack ?? '').matchAll(/\] (\w+)/g)].map(([, call]) => call).slice(0, 3);
    return `${name} in ${[place, ...calls].filter((word) => word !== '0').join(' < ')}`;
  });
  const state = /^State:\s*(.*)$/m.exec(read(pid, 'status'))?.[1];
  const told = childrenOf(pid).map((child) => {
    return `${child} ${statOf(child)?.[0]} ${wordsOf(child).slice(0, 2).join(' ')}`;
  });
  return `${state}; threads: ${threads.join(', ')}; children: ${told.join(', ') || 'none'}`;
}

function entries(pid: number, folder: string): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/${folder}`);
  } catch {
    return [];
  }
}

/** Only if it is still this process. */
export function signal(process_: Identity, name: NodeJS.Signals): boolean {
  if (!isThere(process_)) return false;
  try {
    return process.kill(process_.pid, name);
  } catch {
    return false; // It has ended by itself.
  }
}

/** The fields after the name: the state is the first, the start the twentieth. */
function statOf(pid: number): readonly string[] | null {
  const stat = read(pid, 'stat');
  return stat === '' ? null : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return ''; // It has ended.
  }
}
