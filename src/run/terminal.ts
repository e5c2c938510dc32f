// What ties a run to the shell that started it: the controlling terminal, and the signals that
// arrive. Whether stdin, stdout or stderr are terminals does not matter: a job with all three
// redirected is still stopped by Ctrl-C, and may still ask for a password on /dev/tty. *Note:*
// SIGUSR1 has another handler from the first line of the program on (no-inspector.ts).

import { closeSync, openSync, readFileSync } from 'node:fs';
import os, { devNull } from 'node:os';
import { isatty } from 'node:tty';
import type { Signal } from './record.ts';
import { type Meaning, meaningOf, signalsThat } from './signals.ts';

/** Found out before the command runs: later a terminal may have closed. */
const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));

export function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether our process group is in the foreground of the terminal: then Ctrl-C has reached the child
 * as well. Where that is unknown (no /proc), a run with a terminal counts as in the foreground.
 */
export function isInFront(): boolean {
  const groups = processGroups();
  return groups === null ? hasTerminal() : groups.ours === groups.foreground;
}

/** Whether another process group is in the foreground of our terminal: it has the cursor. */
export function isInBackground(): boolean {
  const groups = processGroups();
  return groups !== null && groups.foreground > 0 && groups.ours !== groups.foreground;
}

/** `foreground`: -1 without a controlling terminal. null: unknown, as without /proc. */
function processGroups(): { readonly ours: number; readonly foreground: number } | null {
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { ours: Number(fields[2]), foreground: Number(fields[5]) };
  } catch {
    return null;
  }
}

/**
 * To be called after the last output, before the exit. At the exit Node and Bun restore the modes
 * of a terminal on stdin, stdout or stderr, even if the command has set others, another program
 * uses the terminal by then, or it has closed (Node aborts then). So these descriptors are closed.
 */
export function leaveTerminal(): void {
  for (const descriptor of terminals) {
    closeSync(descriptor);
    openSync(devNull, 'r+'); // It becomes the lowest free descriptor, which is this one.
  }
}

/**
 * Calls back for each signal, with whether a command in our process group has received it itself.
 * Ctrl-Z suspends such a command together with this process, so what suspends is handled only for
 * one in a session of its own. Returns the function that removes the handlers.
 */
export function subscribe(
  isForeground: boolean,
  onSignal: (signal: Signal, isFromTerminal: boolean) => void,
): () => void {
  const signals = handledSignals(isForeground);
  const handle = (signal: Signal) =>
    onSignal(signal, isForeground && meaningOf(signal).isFromTerminal && isInFront());
  for (const signal of signals) process.on(signal, handle);
  // For good: without a handler the kernel would end this process, where Node had them ignored.
  for (const signal of ignored) process.on(signal, nothing);
  return () => {
    for (const signal of signals) process.off(signal, handle);
  };
}

const meant = (...meanings: readonly Meaning[]) =>
  signalsThat(({ running }) => meanings.includes(running)).filter(
    (signal) => signal in os.constants.signals,
  );
const ignored = meant('ignore');
const nothing = () => {};

/** Without those that a profiler of Node receives itself. */
function handledSignals(isForeground: boolean): readonly Signal[] {
  const options = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ');
  const hasProfiler = /--(cpu-)?prof\b/.test(options);
  const handled = meant(
    'stop',
    'stop-signal',
    'relay',
    ...(isForeground ? [] : ['suspend' as const]),
  );
  return handled.filter((signal) => signal !== 'SIGPROF' || !hasProfiler);
}

/**
 * Dies of the signal, as the caller's shell must see it to end its loop. Resolves after 200 ms if
 * this process still lives: the first process of a container is not ended by its own signals.
 */
export async function raiseAgain(signal: Signal): Promise<void> {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  await new Promise((resolve) => setTimeout(resolve, 200));
}
