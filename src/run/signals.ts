// Which signals reach a run, and how to die of one. The supervisor decides what they mean.
// *Note:* SIGUSR1 has another handler from the first line of the program on (no-inspector.ts).

import type { Signal } from './supervisor.ts';

const handled: readonly Signal[] = [
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGTERM',
  'SIGUSR1',
  'SIGUSR2',
  'SIGWINCH',
  'SIGCONT',
];

/**
 * Calls back for each signal. Ctrl-Z suspends a child in our process group together with this
 * process, so SIGTSTP is handled only for a child in a session of its own. Returns the function
 * that removes the handlers.
 */
export function subscribe(isForeground: boolean, onSignal: (signal: Signal) => void): () => void {
  const signals: readonly Signal[] = isForeground ? handled : [...handled, 'SIGTSTP'];
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
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
