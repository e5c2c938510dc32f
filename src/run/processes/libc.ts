// The calls of the C library that Node does not offer: keeping a tree of processes (prctl, waitpid,
// waitid), leaving a process group (setpgid, setsid), and a timer that counts the time in which the
// machine sleeps (timer_create). Through koffi under Node and bun:ffi in the executable.

import { createRequire } from 'node:module';
import os from 'node:os';

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

/** The types of the parameters of some calls, for both libraries; all return an int. */
type Signatures = Readonly<Record<string, readonly string[]>>;
type Calls<Of extends Signatures> = Readonly<
  Record<keyof Of, (...parameters: unknown[]) => number>
>;

const treeCalls = {
  prctl: ['int', 'unsigned long', 'unsigned long', 'unsigned long', 'unsigned long'],
  waitpid: ['int', 'void *', 'int'],
  waitid: ['int', 'unsigned int', 'void *', 'int'],
  setsid: [],
  setpgid: ['int', 'int'],
} as const;

const timerCalls = {
  clock_gettime: ['int', 'void *'],
  timer_create: ['int', 'void *', 'void *'],
  timer_settime: ['unsigned long', 'int', 'void *', 'void *'],
} as const;

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
  const calls = callsOf(treeCalls);
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

/** So many ms from now; null: never. */
type SetTimer = (afterMs: number | null) => void;

/** The clock of Linux that also counts the time in which the machine sleeps. */
export interface BootClock {
  /** In ms. os.uptime() of Node reads /proc for it, which takes twenty times as long. */
  readonly boot: () => number;
  /** A timer on it: see Alarm in system/clock.ts. */
  readonly alarm: (onRing: () => void) => SetTimer;
}

/** linux/time.h */
const bootClock = 7;

/**
 * clock_gettime(2) and timer_create(2) of CLOCK_BOOTTIME. The timer is told by SIGURG, which does
 * nothing to a process that does not handle it. null where there is none, as on processors of 32
 * bits.
 */
export function loadBootClock(): BootClock | null {
  if (process.platform !== 'linux' || !/64|s390x/.test(process.arch)) return null;
  try {
    const calls = callsOf(timerCalls);
    const id = new BigUint64Array(1);
    // struct sigevent: a value, the signal, SIGEV_SIGNAL.
    const event = new Int32Array(16);
    event[2] = os.constants.signals.SIGURG;
    if (calls.timer_create(bootClock, event, id) !== 0) return null;
    // struct timespec: seconds and nanoseconds.
    const now = new BigInt64Array(2);
    const boot = () => {
      calls.clock_gettime(bootClock, now);
      return Number(now[0]) * 1000 + Number(now[1]) / 1e6;
    };
    const alarm = (onRing: () => void) => {
      process.on('SIGURG', onRing);
      // struct itimerspec: no interval; seconds and nanoseconds.
      const time = new BigInt64Array(4);
      return (wanted: number | null) => {
        const afterMs = wanted ?? 0;
        time[2] = BigInt(Math.floor(afterMs / 1000));
        time[3] = BigInt(Math.floor((afterMs % 1000) * 1e6));
        calls.timer_settime(id[0], 0, time, null);
      };
    };
    return { boot, alarm };
  } catch {
    return null;
  }
}

/** wait(2), as WIFEXITED and WTERMSIG read it. */
function statusOf(status: number): WaitStatus {
  const signalNumber = status & 0x7f;
  return signalNumber === 0 ? { code: (status >> 8) & 0xff } : { signalNumber };
}

function callsOf<Of extends Signatures>(signatures: Of): Calls<Of> {
  return process.versions.bun ? fromBun(signatures) : fromKoffi(signatures);
}

function fromKoffi<Of extends Signatures>(signatures: Of): Calls<Of> {
  const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
  return fromFirst([null, ...libraryNames], (file) => {
    const library = koffi.load(file);
    return collected(signatures, (name, types) => library.func(name, 'int', [...types]));
  });
}

function fromBun<Of extends Signatures>(signatures: Of): Calls<Of> {
  const { dlopen } = createRequire(import.meta.url)('bun:ffi') as BunFfi;
  const types: Readonly<Record<string, string>> = {
    int: 'i32',
    'unsigned int': 'u32',
    'unsigned long': 'u64',
    'void *': 'ptr',
  };
  const wanted = collected(signatures, (_, parameters) => {
    return { args: parameters.map((type) => types[type]), returns: 'i32' };
  });
  return fromFirst(libraryNames, (file) => dlopen(file, wanted).symbols as Calls<Of>);
}

interface BunFfi {
  dlopen(file: string, calls: object): { readonly symbols: unknown };
}

/**
 * glibc's own name, the one of its timers before 2.34, that of musl on each processor, and that of
 * macOS.
 */
const libraryNames = [
  'libc.so.6',
  'librt.so.1',
  'libc.musl-x86_64.so.1',
  'libc.musl-aarch64.so.1',
  'libSystem.B.dylib',
];

function fromFirst<File, Result>(files: readonly File[], load: (file: File) => Result): Result {
  let failure: unknown;
  for (const file of files) {
    try {
      return load(file);
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}

function collected<Of extends Signatures, Result>(
  signatures: Of,
  of: (name: string, types: readonly string[]) => Result,
): Record<keyof Of, Result> {
  const entries = Object.entries(signatures).map(([name, types]) => [name, of(name, types)]);
  return Object.fromEntries(entries) as Record<keyof Of, Result>;
}
