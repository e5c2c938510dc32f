// The calls of the C library that Node does not offer: keeping a tree of processes (prctl, waitpid,
// waitid) and leaving a process group (setpgid, setsid). Through koffi under Node and bun:ffi in
// the executable.

import { createRequire } from 'node:module';

/** How a process ended: with an exit code, or by the signal of this number. */
export type WaitStatus = { readonly code: number } | { readonly signalNumber: number };

export interface Libc {
  /**
   * From now on the orphans among our descendants become our children, whatever their session,
   * group or name: prctl(2), PR_SET_CHILD_SUBREAPER. False where the system cannot do it.
   */
  becomeSubreaper(): boolean;
  /** Whether there is any child, running or not yet reaped: waitid(2) says ECHILD if not. */
  hasChildren(): boolean;
  /** Reaps a child that has ended; null: it still runs, or it is no child of ours. Never blocks. */
  reap(pid: number): WaitStatus | null;
  /** Moves this process into a session of its own, without a terminal. */
  leaveSession(): void;
  /** Moves this process into a process group of its own, in the same session. */
  leaveGroup(): void;
}

/** The types of the parameters of each call, for both libraries; all return an int. */
const signatures = {
  prctl: ['int', 'unsigned long', 'unsigned long', 'unsigned long', 'unsigned long'],
  waitpid: ['int', 'void *', 'int'],
  waitid: ['int', 'unsigned int', 'void *', 'int'],
  setsid: [],
  setpgid: ['int', 'int'],
} as const;

type CallName = keyof typeof signatures;
type Calls = Readonly<Record<CallName, (...parameters: unknown[]) => number>>;

/** linux/prctl.h */
const setChildSubreaper = 36;
/**
 * The same numbers on Linux and the BSDs, but for WNOWAIT and WEXITED, which are those of Linux.
 */
const noHang = 1;
const exited = 4;
const noWait = 0x0100_0000;
const anyChild = 0;

/** @throws Error where the machine has no way to call the C library; the message says why */
export function loadLibc(): Libc {
  const calls = process.versions.bun ? fromBun() : fromKoffi();
  return {
    becomeSubreaper: () => calls.prctl(setChildSubreaper, 1, 0, 0, 0) === 0,
    // ECHILD is the only possible error: the call neither waits nor writes.
    hasChildren: () => calls.waitid(anyChild, 0, null, exited | noHang | noWait) !== -1,
    reap: (pid) => {
      const status = new Int32Array(1);
      return calls.waitpid(pid, status, noHang) === pid ? statusOf(status[0] ?? 0) : null;
    },
    leaveSession: () => void calls.setsid(),
    leaveGroup: () => void calls.setpgid(0, 0),
  };
}

/** wait(2), as WIFEXITED and WTERMSIG read it. */
function statusOf(status: number): WaitStatus {
  const signalNumber = status & 0x7f;
  return signalNumber === 0 ? { code: (status >> 8) & 0xff } : { signalNumber };
}

function fromKoffi(): Calls {
  const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
  const library = koffi.load(null);
  const call = (name: CallName) => library.func(name, 'int', [...signatures[name]]);
  return collected(call);
}

function fromBun(): Calls {
  const { dlopen } = createRequire(import.meta.url)('bun:ffi') as BunFfi;
  const types: Readonly<Record<string, string>> = {
    int: 'i32',
    'unsigned int': 'u32',
    'unsigned long': 'u64',
    'void *': 'ptr',
  };
  const entries = Object.entries(signatures).map(([name, parameters]) => {
    return [name, { args: parameters.map((type) => types[type]), returns: 'i32' }];
  });
  let failure: unknown;
  for (const file of libraryNames) {
    try {
      const { symbols } = dlopen(file, Object.fromEntries(entries));
      return collected((name) => symbols[name] as Calls[CallName]);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

interface BunFfi {
  dlopen(file: string, calls: object): { readonly symbols: Readonly<Record<string, unknown>> };
}

/** glibc's own name, that of musl on each processor, and that of macOS. */
const libraryNames = [
  'libc.so.6',
  'libc.musl-x86_64.so.1',
  'libc.musl-aarch64.so.1',
  'libSystem.B.dylib',
];

function collected(call: (name: CallName) => Calls[CallName]): Calls {
  const names = Object.keys(signatures) as CallName[];
  return Object.fromEntries(names.map((name) => [name, call(name)])) as Calls;
}
